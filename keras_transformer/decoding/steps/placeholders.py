"""Parts of a text that are copied to its translation unchanged."""

import functools
import re
import typing
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable

from keras_transformer import errors
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.decoding.engines.attention import SPACED
from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.steps import check_translates
from keras_transformer.documents.placing import TAG
from keras_transformer.documents.placing import insert_marks
from keras_transformer.documents.placing import make_mark
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import UNSPACED
from keras_transformer.token_ids import WORD_START

# Patterns that are protected by default, besides tags and addresses.
PATTERNS = (
    r"\{(?:[^{}\s]*|\s*[\w.]+\s*)\}",  # {name}, {0}, { name }
    r"[#$%@]\{[^{}]*\}",  # ${name}, %{name}, #{name}
    r"[#$%@]?\{{2,3}[^{}]*\}{2,3}",  # {{name}}, {{ user.name }}, ${{name}}
    r"<%=[^<>]*%>",  # <%= name %>
    # {0, number, #.#}
    r"\{\s*\w+\s*,\s*(?:date|duration|number|ordinal|spellout|time)\b[^{}]*\}",
    # %(name)s, %<name>s
    r"%(?:\(\w+\)|<\w+>)[-+#0]*+\d*+(?:\.\d++)?[a-zA-Z]",
    r"%(?:\d++\$)?(?:#@\w+)?@",  # %@, %1$@, %#@dogs@
    r"%{1,2}[A-Za-z_]\w*%{1,2}",  # %name%, %%name%%
    r"\$(?:[A-Za-z]\w*)?\([^()]*\)|\\\([^()]*\)",  # $(name), $t(key), \(name)
    r"@(?:\.\w+)?:\w[\w.]*\b",  # @:common.name
    r"\[%[^\[\]]*%\]",  # [% name %]
    # %s, %.2f, %-*s, %8lu, %1$s
    r"%(?:\d++\$)?[-+#0]*+[\d*]*+(?:\.[\d*]++)?(?:hh?|ll?|z)?[cdfgiopsuxGX]\b",
)
# Where a message of ICU or Fluent begins: {count, plural, one {a dog} other {#
# dogs}}, or { $count -> [one] a dog *[other] dogs }.
_MESSAGE = re.compile(
    r"\{\s*(?:[\w.-]+\s*,\s*(?:plural|select|selectordinal|choice)\s*,"
    r"|[\w-]*\(?\$[\w-]+[^{}]*->)"
)
# A brace, or text between apostrophes, where braces are characters.
_BRACE = re.compile(r"''|'[{}][^']*'|[{}]")
# Braces and brackets belong to a URL in pairs: https://example.org/{id}_(new).
_PAIRED = r"\{+[^{}\s]*\}+|\([^\s<>\"()]*\)"
_TAKEN_OUT = (
    TAG,
    # {% if name %}, [b] and [url=https://example.org]
    re.compile(
        r"\{%[^{}]*%\}|<%[^<>]*%>"
        r"|\[/?(?:[bisu]|code|color|img|list|quote|size|url)(?:=[^\[\]]*)?\]"
    ),
    re.compile(
        rf"https?://(?:{_PAIRED}|[^\s<>\"{{}}()])*"
        rf"(?:{_PAIRED}|[^\s<>\"{{(.,;:!?)\]}}'])"
    ),
    re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
)
_ENDING = rf"[^\W\d_{UNSPACED}]{{0,2}}"  # of a case, as in German "Toms"
# Placeholders, here zeros, and the letters that a name must not touch.
_JOINED = re.compile(
    rf"(?<!{SPACED})(?:{SPACED}*+\0+)+(?:(?!{_ENDING}(?!{SPACED})){SPACED}+)?"
)
UNKNOWN = ("copy", "omit")  # what to do with what the vocabulary lacks
# Names that stand for placeholders in the model's input.
STAND_INS = ("Tom", "Maria", "Peter", "Anna", "Paul", "Boston", "Paris")


class Masked(typing.NamedTuple):
    """A text as the model reads it, and the parts that were taken out."""

    text: str  # with single spaces
    stand_ins: dict  # the `Mark` of a placeholder by its stand-in
    tags: list  # of `Mark`; addresses are among them

    @property
    def has_message(self):
        """Whether a plural or a select of ICU is among the parts."""
        marks = [*self.stand_ins.values(), *self.tags]
        return any(_MESSAGE.search(mark.piece.raw) for mark in marks)


class Placeholders:
    """Recognises the parts that a translation must keep, and puts them back.

    The model reads a name instead of a placeholder such as `{name}`, and the
    placeholder replaces the name in the translation. If the translation lacks
    the name, attention decides where the placeholder goes. Tags such as `<b>`
    are taken out, and put back around the translation of the words that they
    enclosed. URLs and e-mail addresses are taken out as well, since a sentence
    is usually complete without them. All are copied exactly, each as often as
    in the text, and a text without a word beside them is copied as a whole. A
    plural or select of ICU is a placeholder with all of its branches.

    Args:
        patterns: Iterable of str, the regular expressions of placeholders.
            Their matches are never tags. None keeps neither placeholders nor
            tags. Defaults to `PATTERNS`.
        name: Name of the patterns in errors. Defaults to "`patterns`".
        unknown: "copy" treats what the vocabulary lacks as an address, and
            "omit" leaves it out. Defaults to None: the model reads one id.

    Example:

    >>> masked = Placeholders().mask("Call <b>{name}</b>!")
    >>> masked.text
    'Call Tom!'
    """

    def __init__(
        self,
        patterns: Iterable[str] | None = PATTERNS,
        name: str = "`patterns`",
        unknown: str | None = None,
    ):
        if unknown not in (None, *UNKNOWN):
            raise errors.UserError(
                f"`unknown` must be one of {', '.join(UNKNOWN)}, or None. "
                f"Received: unknown={unknown!r}. Correct it."
            )
        errors.check_is_list(patterns, name)
        self.unknown = unknown
        self._has_patterns = patterns is not None
        # One after the other, so that the first fault ends a long file.
        self._compiled = [
            _compile(pattern, f"{name}, line {number}")
            for number, pattern in enumerate(patterns or (), 1)
        ]
        self.patterns = tuple(pattern.pattern for pattern in self._compiled)

    @classmethod
    def read(cls, path: str, unknown: str | None = None) -> typing.Self:
        """Reads patterns from a file, one regular expression on each line."""
        return cls(read_lines(path), path, unknown)

    def mask(
        self,
        text: str,
        taken: Collection[str] = (),
        normalize: Callable[[str], str] = str,
        find_unknown: Callable[[str], list] | None = None,
        separate: bool = False,
    ) -> Masked:
        """Takes placeholders and tags out of a text, and normalises the rest.

        Names in `taken` stand for no placeholder. Placeholders for which there
        are not enough names are treated as tags. `find_unknown` returns the
        spans that the vocabulary lacks, which `separate` puts between spaces.
        """
        free = [n for n in STAND_INS if n not in text and n not in taken]
        masked, stand_ins, tags, done = "", {}, [], 0
        spans = self._find_spans(text) if self._has_patterns else []
        spans = _join_words(text, spans)
        if spans and not _has_words(text, spans):
            start = len(text) - len(text.lstrip())
            spans = [(start, len(text.rstrip()), False)]
        elif find_unknown:
            spans = _add_unknown(text, spans, find_unknown(text))
        for start, end, is_placeholder in spans:
            masked = _append(masked, normalize(text[done:start]))
            done = end
            if is_placeholder and free:
                name = free.pop(0)
                stand_ins[name] = make_mark(text[start:end], len(masked))
                masked += name
            elif is_placeholder is not None or self.unknown == "copy":
                around = text[max(0, start - 1) : start], text[end : end + 1]
                if is_placeholder is None and separate:
                    around = " ", " "
                tags.append(make_mark(text[start:end], len(masked), *around))
        masked = _append(masked, normalize(text[done:])).rstrip()
        result = Masked(masked, stand_ins, tags)
        # A letter behind a tag makes another word of a name.
        if _find_missing(result, masked):
            return self.mask(text, STAND_INS, normalize, find_unknown, separate)
        return result

    def _find_spans(self, text):
        """Returns the start, end and kind of each part to keep, in order."""
        # If two overlap, the first counts. An address extends to the end of a
        # placeholder that begins in it.
        spans = [
            (match.start(), order, match.end())
            for order, pattern in enumerate([*self._compiled, *_TAKEN_OUT])
            for match in pattern.finditer(text)
            if match[0]
        ]
        spans += [(start, -1, end) for start, end in _find_messages(text)]
        num_patterns = len(self._compiled)
        chosen = []
        for start, order, end in sorted(spans):
            first, kind, last = chosen[-1] if chosen else (0, 0, 0)
            if start >= last:
                chosen.append((start, order, end))
            elif order < num_patterns < kind:
                chosen[-1] = (first, kind, max(last, end))
        return [(i, j, kind < num_patterns) for i, kind, j in chosen]


class Protection(Step):
    """Takes protected parts out of texts, and puts them back by attention."""

    def __init__(self, placeholders, glossary, engine):
        self._mask = make_mask(placeholders, glossary, engine.codec)
        self._engine = engine
        # A character that was taken out may have been inside a word.
        self._word = re.compile(r"\S") if placeholders.unknown else WORD

    def prepare(self, texts):
        masked = list(map(self._mask, texts))
        return [one.text for one in masked], masked

    def finish(self, hypotheses, memory):
        links = self._find_links(memory, hypotheses)

        def put_back(masked, one):
            pair = masked.text, one.text
            return one._replace(text=restore(masked, one.text, links.get(pair)))

        return [
            [put_back(masked, one) for one in each]
            for masked, each in zip(memory, hypotheses)
        ]

    def _find_links(self, all_masked, hypotheses):
        """Returns the `WordLinks` that are needed, by both texts."""
        needed = {
            (masked.text, one.text): one
            for masked, each in zip(all_masked, hypotheses)
            for one in each
            if masked.text and one.text
            if masked.tags or _find_missing(masked, one.text)
        }
        links = self._engine.link_words(
            self._engine.codec.encode([source for source, _ in needed]),
            [one.ids for one in needed.values()],
            self._word,
            scored=False,
        )
        return dict(zip(needed, links))


def make_mask(placeholders, glossary, codec):
    """Returns a function that masks a text for its translation.

    A word of the glossary cannot stand for a placeholder. It would be
    translated as a term, or a term would become the placeholder.
    """
    terms = glossary.terms if glossary else {}
    words = WORD.findall("\n".join([*terms, *filter(None, terms.values())]))
    # A small term may begin with a capital letter at the start of a text, and
    # a stand-in may have an ending.
    words = [*words, *map(str.capitalize, words)]
    taken = [n for n in STAND_INS if any(word.startswith(n) for word in words)]
    options = {"taken": taken, "normalize": codec.normalize}
    if placeholders.unknown:
        pieces = codec.vocabulary.all_pieces()[FIRST_SYMBOL_ID:]
        options |= {
            "find_unknown": codec.find_unknown,
            "separate": all(one.startswith(WORD_START) for one in pieces),
        }
    return functools.partial(placeholders.mask, **options)


def restore(masked, translation, links=None):
    """Puts placeholders and tags into a translation of `masked.text`.

    `links` are their `WordLinks` if both have words; else all goes to the end.
    """

    def put_back(text):
        for name, placeholder in masked.stand_ins.items():
            pattern = _name(name)
            if found := pattern.search(text):
                # The model may have written a name twice.
                rest = pattern.sub("", text[found.end() :])
                text = text[: found.start()] + placeholder.piece.raw
                text += found["ending"] + rest
        return text

    def find_span(start, end):
        span = links.find_span(start, end) if links else (len(translation),) * 2
        return [len(put_back(translation[:place])) for place in span]

    missing = _find_missing(masked, translation)
    marks = sorted([*masked.tags, *missing], key=lambda mark: mark.start)
    # Names are replaced first. An inserted part may end in a letter, and a name
    # directly after it would no longer be a word.
    return insert_marks(put_back(translation), marks, find_span)


def check_protect(protect, linearization, **others):
    """Checks that a model can keep placeholders; a tree has none.

    `others` are those arguments of the translator, by name, that refer to the
    texts themselves, which `protect` changes.
    """
    if not isinstance(protect, Placeholders):
        raise errors.UserError(
            "`protect` must be a `Placeholders`. Received: protect="
            f"{errors.quote(protect)}. Write Placeholders()."
        )
    check_translates("protect", linearization)
    for name, value in others.items():
        if value:
            raise errors.UserError(
                f"`protect` cannot be combined with `{name}`, since it changes "
                f"the texts that the model reads. Received: protect and {name}="
                f"{value!r:.40}. Leave one of them out."
            )


def _join_words(text, spans):
    """Adds to placeholders the letters and placeholders that they touch."""
    for i, j, kind in spans:
        text = text[:i] + (j - i) * ("\0" if kind else " ") + text[j:]
    words = [(*match.span(), True) for match in _JOINED.finditer(text)]
    return sorted([*words, *(span for span in spans if not span[2])])


def _find_messages(text):
    """Yields the start and the end of each plural or select of ICU."""
    end = 0
    for match in _MESSAGE.finditer(text):
        start, depth = match.start(), 0
        if start < end:  # a message in a branch of another one
            continue
        end = len(text)  # if the braces do not balance
        for brace in _BRACE.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(brace[0], 0)
            if not depth:
                end = brace.end()
                break
        yield start, end


def _add_unknown(text, spans, unknown):
    """Adds the unknown parts outside of spans, with None as their kind."""
    starts = [start for start, _, _ in spans]
    gaps = zip((0, *(end for _, end, _ in spans)), (*starts, len(text)))
    added = []
    for first, last in gaps:
        for start, end in unknown:
            part = text[max(first, start) : min(last, end)].lstrip()
            if part:
                end = min(last, end)
                added.append((end - len(part), end, None))
    return sorted([*spans, *added], key=lambda span: span[0])


def _has_words(text, spans):
    """Returns whether a text has a letter or a digit between the spans."""
    starts, ends, _ = zip(*spans)
    rest = [text[i:j] for i, j in zip((0, *ends), (*starts, len(text)))]
    return any(map(str.isalnum, "".join(rest)))


def _find_missing(masked, translation):
    return [
        placeholder
        for name, placeholder in masked.stand_ins.items()
        if not _name(name).search(translation)
    ]


def _name(name):
    return re.compile(rf"(?<!{SPACED}){name}(?P<ending>{_ENDING})(?!{SPACED})")


def _append(text, part):
    """Appends a part of a text, with single spaces."""
    part = re.sub(r"\s+", " ", part)
    return text + (part.lstrip() if text[-1:] in ("", " ") else part)


def _compile(pattern, place):
    try:
        compiled = re.compile(pattern)
    # Huge numbers overflow, and thousands of brackets nest too deep.
    except (re.error, OverflowError, RecursionError) as error:
        raise errors.UserError(
            "A protected pattern must be a regular expression of Python. "
            f"Received: {place}, {pattern[:60]!r} ({error}). Correct it."
        ) from error
    if compiled.match(""):
        raise errors.UserError(
            "A protected pattern must not match the empty text. Received: "
            f"{place}, {pattern[:60]!r}. Correct it, for example with + "
            "instead of *."
        )
    return compiled
