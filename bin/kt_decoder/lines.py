"""Reads and writes the lines of kt-decoder, and handles too long ones."""

import collections
import functools
import itertools
import json
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.errors import UserError


class LineFormat:
    """Reads and writes lines as the flags of kt-decoder say.

    `changes` are decoding options; `read_constraints` returned `constraints`,
    and `read_quality` returned `quality`.
    """

    def __init__(self, changes, constraints, quality=None):
        self._is_json = FLAGS.format == "jsonl"
        self.shows_scores = self._is_json or FLAGS.write_scores
        self._num_hypotheses = changes.get("num_hypotheses") or 1
        self._changes = changes
        self._constraints = constraints
        self._quality = quality

    def text_of(self, line, number):
        """Returns the text of a line, which is perhaps a field of JSON."""
        if not self._is_json:
            return line
        name = FLAGS.decode_from_file or "standard input"
        return _read_json(line, f"{name}, line {number}")

    def count(self, text):
        """Returns the number of lines; None if they can be read only once."""
        if not text.is_file:
            return None
        number = 0
        for number, line in enumerate(text, 1):
            self.text_of(line, number)
        return number

    def rows(self, results, translator, output, prefixes=None):
        """Yields the line to write for each result of `LongLines.results`.

        It adds their alarms to the `num_alarms` of the `output`.
        """
        # Imported here because it needs NumPy; bad input fails sooner.
        from keras_transformer.decoding.texts import WINDOW

        results = iter(results)
        prefixes = prefixes or itertools.repeat("")
        while batch := list(itertools.islice(results, WINDOW)):
            # A line that is too long has no translation, or that of its parts.
            whole_texts = [
                "" if translation.warnings else text
                for *_, text, translation in batch
            ]
            hypotheses = [translation.hypotheses for *_, translation in batch]
            alarms = translator.find_alarms(
                whole_texts, hypotheses, **self._constraints
            )
            links_of_lines = self._links(whole_texts, hypotheses, translator)
            for (number, line, text, translation), alarm, links, prefix in zip(
                batch, alarms, links_of_lines, prefixes
            ):
                of_words = self._describe_words(links)
                translation, quality = self._judge(
                    text, translation, alarm, translator, prefix
                )
                output.num_alarms += report_alarms(number, translation.warnings)
                if self._is_json:
                    more = {**of_words, **quality}
                    yield _write_json(
                        line, translation, self._num_hypotheses, more
                    )
                else:
                    yield self.columns(translation.hypotheses, of_words)

    def columns(self, hypotheses, of_words=None):
        """Returns the translations of a line, separated by tabs.

        `of_words` holds the `alignments` and `word_scores` of the best
        hypothesis, as far as the flags ask for them.
        """
        columns = []
        for text, score, _ in hypotheses[: self._num_hypotheses]:
            columns.append(text)
            if FLAGS.write_scores:
                columns.append(f"{score:.6f}")
        of_words = of_words or {}
        if "alignments" in of_words:
            from keras_transformer.decoding.attention import format_pharaoh

            columns.append(format_pharaoh(of_words["alignments"]))
        if "word_scores" in of_words:
            scores = of_words["word_scores"]
            columns.append(" ".join(f"{score:.4f}" for score in scores))
        if len(columns) > 1:
            # A tab within a translation would look like another column.
            columns = [column.replace("\t", " ") for column in columns]
        return "\t".join(columns)

    def _links(self, texts, hypotheses, translator):
        """Returns the `WordLinks` of texts, or None for each."""
        if not (FLAGS.write_alignments or FLAGS.write_word_scores):
            return [None] * len(texts)
        return translator.word_links(
            texts, hypotheses, scored=FLAGS.write_word_scores
        )

    def _describe_words(self, links):
        """Returns the fields about the words of a translation."""
        fields = {}
        if FLAGS.write_alignments:
            fields["alignments"] = links.find_pairs()
        if FLAGS.write_word_scores:
            fields["word_scores"] = [round(one, 4) for one in links.scores]
        return fields

    @functools.cached_property
    def _mask(self):
        if "protect" not in self._constraints:
            return None
        # Imported here because it needs NumPy.
        from keras_transformer.decoding.steps.placeholders import make_mask

        placeholders = self._constraints["protect"]
        return make_mask(placeholders, self._constraints.get("glossary"))

    def _judge(self, text, translation, alarms, translator, prefix):
        """Returns a translation with its warnings, and fields of its quality.

        A line that is not translated as a whole keeps its warnings.
        """
        from keras_transformer.decoding.steps.long_texts import find_warnings

        # Warnings are about translations; trees and blank lines have none.
        is_odd = not text.strip() or translator.linearization
        if translation.warnings or is_odd:
            return translation, {}
        hypotheses, quality = translation.hypotheses, {}
        if self._quality:
            from keras_transformer.evaluation.quality import measure_features

            alpha = translator.change_options(**self._changes).alpha
            features = measure_features(translator, hypotheses[:1], alpha)
            (estimate,), (alarms,) = self._quality.judge(features, [alarms])
            quality = {"quality": round(float(estimate), 4)}
        warnings = []
        if self._is_json:
            if self._mask:
                text = self._mask(text).text
            warnings = find_warnings(
                translator, text, hypotheses, self._changes, prefix
            )
        return translation._replace(warnings=warnings + alarms), quality


class LongLines:
    """Takes lines that are too long out of a translator's input.

    Their translations are empty or put together from parts. The translator sees
    blank lines in their place. `counter` is a `Translator` that counts tokens
    and needs no model; `text_of` returns the text for a line and its number.
    """

    def __init__(self, counter, text_of):
        from keras_transformer.decoding.steps import long_texts

        self._counter = counter
        self._max_tokens = counter.max_tokens
        if FLAGS.split_long:
            self._max_tokens = long_texts.limit_part_tokens(
                counter, FLAGS.max_sentence_tokens
            )
        self._text_of = text_of
        self._counts = {}  # tokens of the lines that are too long, by number
        self._undecoded = collections.deque()

    @property
    def num_long(self):
        return len(self._counts)

    def inspect(self, lines):
        """Yields all lines of the input, and notes which are too long."""
        from keras_transformer.decoding.texts import WINDOW

        numbered = enumerate(lines, 1)
        # A translator reads a window at once, too.
        while window := list(itertools.islice(numbered, WINDOW)):
            texts = [self._text_of(line, number) for number, line in window]
            counts = self._counter.count_tokens(texts)
            for (number, line), count in zip(window, counts):
                if count > self._max_tokens:
                    self._counts[number] = count
                yield line

    def texts(self, lines, start):
        """Yields the text of each line, which is blank for a long one.

        The lines are those of `inspect` after the first `start`.
        """
        for number, line in enumerate(lines, start + 1):
            text = self._text_of(line, number)
            self._undecoded.append((number, line, text))
            yield "" if number in self._counts else text

    def results(self, hypotheses_of_lines, translator, changes, glossary=None):
        """Yields the number of each line, the line, its text and `Translation`.

        The hypotheses are those that the translator found for `texts`.
        """
        from keras_transformer.decoding.steps import long_texts

        for hypotheses in hypotheses_of_lines:
            number, line, text = self._undecoded.popleft()
            warnings = []
            if number in self._counts:
                warnings = [long_texts.TOO_LONG]
                count = self._counts[number]
                report_long(number, count, self._max_tokens, FLAGS.split_long)
            translation = long_texts.Translation(hypotheses, warnings)
            if warnings and FLAGS.split_long:
                parts = long_texts.split_texts(
                    translator, [text], self._max_tokens
                )
                (translation,) = long_texts.translate_in_parts(
                    translator,
                    parts,
                    seed=FLAGS.random_seed,
                    glossary=glossary,
                    **changes,
                )
            yield number, line, text, translation


def report_long(number, count, max_tokens, is_split=False):
    """Prints that a line is too long, and what became of it."""
    fate = (
        "It is translated in parts."
        if is_split
        else "Its translation is empty; --split_long translates it in parts."
    )
    print(
        f"kt-decoder: warning: line {number} has {count:,} tokens, more than "
        f"{max_tokens:,}. {fate}",
        file=sys.stderr,
    )


def report_alarms(number, warnings):
    """Prints the alarms among the warnings of a line; returns how many."""
    from keras_transformer.scoring.alarms import REASONS

    alarms = [REASONS[name] for name in warnings if name in REASONS]
    for reason in alarms:
        print(f"kt-decoder: warning: line {number} {reason}.", file=sys.stderr)
    return len(alarms)


def _read_json(line, place):
    """Returns the text of a line: a JSON object with "text", or a string."""
    # The error about any other line names its `place`.
    try:
        value = json.loads(line, parse_constant=_refuse)
        # Half of a surrogate pair cannot be written as UTF-8, and a number such
        # as 1e999 is read as infinity, which JSON cannot hold.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _make_error(place, f"{error}"[:80]) from error
    text = value.get("text") if isinstance(value, dict) else value
    if not isinstance(text, str):
        raise _make_error(place, f"{line[:40]!r}")
    return text


def _write_json(line, translation, num_hypotheses, more):
    """Returns the line of the output, a JSON object."""
    # It has the fields of the input's line except "text", the best hypothesis
    # with the fields `more`, and all hypotheses if there are several.
    value = json.loads(line)
    fields = value if isinstance(value, dict) else {}
    fields = {name: fields[name] for name in fields if name != "text"}
    rows = [
        {"translation": one.text, "score": round(one.score, 6)}
        for one in translation.hypotheses[:num_hypotheses]
    ]
    fields.update(rows[0], **more)
    if num_hypotheses > 1:
        fields["hypotheses"] = rows
    fields["warnings"] = translation.warnings
    return json.dumps(fields, ensure_ascii=False)


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _make_error(place, reason):
    return UserError(
        'With `--format=jsonl` each line must be a JSON object with "text", or '
        f"a JSON string. Received: {place}: {reason}. Correct the line."
    )
