"""Checks of what a user's problem sets and says of itself."""

from keras_transformer.data import subwords
from keras_transformer.data.corpora import MAX_WEIGHT
from keras_transformer.errors import UserError


def check_attributes(problem, tmp_dir):
    """Raises a `UserError` for the first class attribute with a wrong value."""
    for name, is_met, rule, example in _rules(problem, tmp_dir):
        if not is_met:
            raise UserError(
                f"`{name}` of a problem must be {rule}. Received: "
                f"{type(problem).__name__}.{name} = {getattr(problem, name)!r}."
                f" Write for example {name} = {example}."
            )
    subwords.check_user_symbols(
        problem.user_symbols,
        f"Correct {type(problem).__name__}.user_symbols, for example to "
        '("<num>", "<url>").',
    )


def check_corpora(problem, split, tmp_dir):
    """Returns what a problem says of the corpora of a split, checked."""
    described = problem.describe_corpora(split)
    if not described:
        return []
    num_corpora = len(problem.text_corpora(split, tmp_dir))
    if len(described) != num_corpora or not all(map(_is_described, described)):
        raise UserError(
            "`describe_corpora` of a problem must return a dictionary for each "
            "corpus of `text_corpora`, with a text as `name`, a list of texts "
            f"as `sha256` and a `weight` above 0 and at most {MAX_WEIGHT:,}. "
            f"Received: {type(problem).__name__}.describe_corpora({split!r}) = "
            f"{described!r}, while `text_corpora` returns {num_corpora}. Give "
            'each an entry like {"name": "news", "sha256": [], "weight": 1}.'
        )
    return described


def _is_described(entry):
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and _are_texts(entry.get("sha256"))
        and _is_weight(entry.get("weight"))
        and isinstance(entry.get("tag", ""), str)
    )


def _is_weight(value):
    # A bool is an int, too.
    is_number = isinstance(value, int | float) and value is not True
    return is_number and 0 < value <= MAX_WEIGHT


def _rules(problem, tmp_dir):
    """Yields an attribute, whether it follows its rule, the rule, a value."""
    for side in ("inputs", "targets"):
        name = f"{side}_language"
        is_text = isinstance(getattr(problem, name), str)
        yield name, is_text, "a text, the code of a language", '"en"'
    size, source_size = problem.vocab_size, problem.source_vocab_size
    yield (
        "vocab_size",
        _is_size(size)
        or (size is None and not _trains_vocabulary(problem, tmp_dir)),
        "an integer of at least 1, or None if no vocabulary is trained",
        "32000",
    )
    yield (
        "source_vocab_size",
        source_size is None or _is_size(source_size),
        "an integer of at least 1, or None",
        "32000",
    )
    temperature = problem.vocabulary_temperature
    yield (
        "vocabulary_temperature",
        isinstance(temperature, int | float) and temperature >= 1,
        "a number of at least 1",
        "1",
    )
    splits = problem.splits
    yield (
        "splits",
        _are_texts(splits)
        and "train" in splits
        and len(set(splits)) == len(splits),
        'a tuple of different names, with "train" among them',
        '("train", "dev", "test")',
    )
    yield (
        "user_symbols",
        _are_texts(problem.user_symbols),
        "a tuple of texts",
        '("<num>", "<url>")',
    )
    yield (
        "normalize_text",
        isinstance(problem.normalize_text, bool),
        "a bool",
        "False",
    )


def _is_size(value):
    # A bool is an int, too.
    return isinstance(value, int) and value is not True and value > 0


def _are_texts(value):
    # A single str would be taken for a sequence of its letters.
    is_sequence = isinstance(value, tuple | list)
    return is_sequence and all(isinstance(text, str) for text in value)


def _trains_vocabulary(problem, tmp_dir):
    if not problem.shared_vocabulary:
        return True
    return not (problem.vocabulary_path or problem.bpe_symbols(tmp_dir))
