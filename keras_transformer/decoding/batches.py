"""Windows of sentences, the batches they are decoded in, and their limits."""

import itertools
import math
from concurrent import futures

import numpy as np

from keras_transformer.data.text_files import is_blank
from keras_transformer.search.options import MAX_SOURCE_TOKENS

WINDOW = 1024  # sentences that are read, and sorted by length, together
# The most keys that a layer's cache holds: rows x beam_size x length. This is
# the best number on a processor; see `cache_budget` for a GPU.
CACHE_POSITIONS = 16384
# A tree has at most 4.0 symbols a word in 3,669 sentences of the Wall Street
# Journal, so it is at most three times longer than its sentence, plus one.
TREE_GROWTH = 3


def check_texts(texts, name="texts"):
    """Checks that `texts` is not a single text.

    Args:
        texts: Iterable of str.
        name: The user's name for the texts. Defaults to "texts".

    Raises:
        ValueError: If `texts` is a str.
    """
    # A str is iterable too: each of its characters would be a sentence.
    if isinstance(texts, str):
        raise ValueError(
            f"`{name}` must be a list of str. Received: one str, "
            f"{texts[:40]!r}. Put it into a list."
        )


def numbered_texts(texts, start=0, name="texts"):
    """Yields texts with their numbers, the first with `start + 1`.

    Args:
        texts: Iterable of str.
        start: Integer, the number of texts before these. Defaults to 0.
        name: The user's name for the texts. Defaults to "texts".

    Yields:
        Pairs (number, text).

    Raises:
        ValueError: If `texts` is a str, or if one of them is not.
    """
    check_texts(texts, name)
    for number, text in enumerate(texts, start + 1):
        if not isinstance(text, str):
            raise ValueError(
                f"`{name}` must be a list of str. Received: text {number} is "
                f"{text!r:.40}. Pass an empty str for a blank text."
            )
        yield number, text


def check_pairs(texts, translations):
    """Checks that there is one translation for each text.

    Raises:
        ValueError: If the numbers differ, or if one of them is no list of str.
    """
    for name, values in (("texts", texts), ("translations", translations)):
        for _ in numbered_texts(values, name=name):
            pass
    if len(texts) != len(translations):
        raise ValueError(
            "`translations` must have one entry for each text. Received: "
            f"{len(translations)} translations of {len(texts)} texts. Pass "
            "equally many."
        )


def windows(texts, prefixes, size, start=0):
    """Yields texts and their prefixes in windows.

    Args:
        texts: Iterable of str.
        prefixes: Iterable of str, one for each text, or None.
        size: Integer, the largest number of texts in a window.
        start: Integer, the number of texts before these. Defaults to 0.

    Yields:
        List of pairs (number, text), where the first text has the number
        `start + 1`, and the list of their prefixes, or None without prefixes.

    Raises:
        ValueError: If `texts` or `prefixes` is a str or holds something else,
            or if there are fewer prefixes than texts.
    """
    numbered = numbered_texts(texts, start)  # errors count sentences from 1
    if prefixes is not None:
        checked = numbered_texts(prefixes, start, "prefixes")
        prefixes = (prefix for _, prefix in checked)
    while window := list(itertools.islice(numbered, size)):
        if prefixes is None:
            yield window, None
            continue
        window_prefixes = list(itertools.islice(prefixes, len(window)))
        if len(window_prefixes) < len(window):
            raise ValueError(
                "`prefixes` must have one entry for each text. Received: none "
                f"for text {window[len(window_prefixes)][0]}. Pass an empty "
                "prefix where a translation is free."
            )
        yield window, window_prefixes


def check_length(number, text, length, max_tokens=MAX_SOURCE_TOKENS):
    """Checks that a sentence is not too long for the model or the memory.

    Args:
        number: Integer position of the sentence in the input, from 1, or a
            str that names the input and the line.
        text: The sentence, a str.
        length: Integer number of its tokens.
        max_tokens: Integer, the greatest allowed length. Defaults to
            `MAX_SOURCE_TOKENS`.

    Raises:
        ValueError: If the sentence has more than `max_tokens` tokens.
    """
    if length > max_tokens:
        place = number if isinstance(number, str) else f"sentence {number}"
        raise ValueError(
            f"A sentence must have at most {max_tokens:,} tokens. Received: "
            f"{place} with {length:,}, {text[:20]!r}... Put one sentence on "
            "a line."
        )


def encode(vocabulary, numbered, max_tokens=MAX_SOURCE_TOKENS):
    """Returns the ids of sentences.

    Args:
        vocabulary: A `Subwords`.
        numbered: List of pairs (number, text).
        max_tokens: Integer, see `check_length`.

    Returns:
        List of lists of ids with the end id. A blank text gives an empty list.

    Raises:
        ValueError: If a sentence has more than `max_tokens` tokens.
    """
    encoded = vocabulary.encode([text for _, text in numbered])
    for (number, text), ids in zip(numbered, encoded):
        check_length(number, text, len(ids), max_tokens)
    # A blank text encodes to the end id alone, which is not worth a search.
    return [
        [] if is_blank(text) else ids
        for (_, text), ids in zip(numbered, encoded)
    ]


def encode_prefixes(vocabulary, window, prefixes, max_tokens=MAX_SOURCE_TOKENS):
    """Returns the ids of prefixes, lists without the end id; None for None.

    Args:
        vocabulary: A `Subwords`.
        window: List of pairs (number, text).
        prefixes: List of str, one for each text, or None.
        max_tokens: Integer, see `check_length`.
    """
    if prefixes is None:
        return None
    numbered = [(n, prefix) for (n, _), prefix in zip(window, prefixes)]
    encoded = encode(vocabulary, numbered, max_tokens)
    # The translation continues after a prefix, so the end id is removed.
    return [ids[:-1] for ids in encoded]


def num_beams(options):
    """Returns how many beams or samples each sentence has.

    Args:
        options: A `DecodeOptions`.
    """
    return options.num_hypotheses if options.temperature else options.beam_size


def search_costs(lengths, options, linearization):
    """Returns the largest number of cache positions each search can take.

    Args:
        lengths: Iterable of integers, the number of tokens of each sentence. A
            blank sentence has 0.
        options: A `DecodeOptions`.
        linearization: The linearization of a parsing model, or None for a
            translation model. The number of words limits the length of a tree,
            whatever `extra_length` allows.

    Returns:
        List of integers. A blank sentence costs 0.
    """
    beams = num_beams(options)
    growth = TREE_GROWTH if linearization and options.constrained else math.inf
    return [
        (n + min(options.extra_length, growth * n)) * beams if n else 0
        for n in lengths
    ]


def plan_batches(costs, budget, num_threads=1, fitting_rows=lambda rows: rows):
    """Yields the indices of the items that go into each batch.

    The most expensive items come first, so that similar ones go together and
    no thread starts a long batch at the end.

    Args:
        costs: List of integers, one for each item. An item that costs 0 is
            left out.
        budget: Integer, the limit on a batch's size times its greatest cost.
            An item that costs more than the budget gets a batch of its own.
        num_threads: Integer number of threads. There are at least as many
            batches if there are as many items. Defaults to 1.
        fitting_rows: Function that takes the greatest size that fits and
            returns the size of the batch. Defaults to the identity.

    Example:

    >>> list(plan_batches([1, 3, 0, 2, 1], budget=4))
    [[1], [3, 0], [4]]
    """
    order = [i for i, cost in enumerate(costs) if cost]
    order.sort(key=lambda i: costs[i], reverse=True)
    # Rounded up. No thread stays idle while one large batch holds all items.
    rows_per_thread = -(-len(order) // num_threads)
    while order:
        rows = fitting_rows(max(1, budget // costs[order[0]]))
        rows = min(rows_per_thread, rows)
        yield order[:rows]
        order = order[rows:]


def padded(sequences):
    """Returns ids as one array.

    Args:
        sequences: List of lists of ids.

    Returns:
        Int32 array of shape `(batch, length)`, padded with 0.
    """
    longest = max(map(len, sequences))
    array = np.zeros((len(sequences), longest), "int32")
    for row, ids in zip(array, sequences):
        row[: len(ids)] = ids
    return array


def padded_terms(terms):
    """Returns the ids of terms as one array.

    Args:
        terms: List with a list of lists of ids for each sentence.

    Returns:
        Int32 array of shape `(batch, num_terms, term_len)`, padded with 0. None
        if there are no terms.
    """
    num_terms = max(map(len, terms))
    if not num_terms:
        return None
    rows = [own + [[]] * (num_terms - len(own)) for own in terms]
    flat = padded(list(itertools.chain.from_iterable(rows)))
    return flat.reshape(len(terms), num_terms, -1)


def in_parallel(function, items, num_threads):
    """Yields each item with the function's result, in the order of the items.

    Args:
        function: Function of one item. With several threads it is called in
            them.
        items: Iterable.
        num_threads: Integer, the number of calls at the same time.

    Yields:
        Pairs (item, result).
    """
    if num_threads == 1:
        # No pool: a caller that stops early leaves the other items untouched.
        for item in items:
            yield item, function(item)
        return
    # Threads suffice, because the backends release Python's lock while they
    # compute.
    pool = futures.ThreadPoolExecutor(num_threads)
    try:
        calls = [(item, pool.submit(function, item)) for item in items]
        for item, call in calls:
            yield item, call.result()
    finally:
        # A caller that stops early does not wait for the other batches.
        pool.shutdown(cancel_futures=True)
