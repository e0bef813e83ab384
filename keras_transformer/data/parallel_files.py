"""Parallel text in one file or two: two text files, TSV or TMX."""

import itertools
import re
import xml.etree.ElementTree

from keras_transformer.data import text_files
from keras_transformer.errors import UserError

_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_LINES_AT_ONCE = 100


def detect_kind(paths):
    """Returns the kind of the files of a corpus: "text", "tsv" or "tmx".

    The ending of a single file tells its kind, apart from ".gz".

    >>> detect_kind(("news.en", "news.de")), detect_kind(("news.tmx.gz",))
    ('text', 'tmx')
    """
    if len(paths) == 2 and all(paths):
        return "text"
    if len(paths) == 1:
        stem = paths[0].lower().removesuffix(".gz")
        for kind in ("tsv", "tmx"):
            if stem.endswith(f".{kind}"):
                return kind
    raise UserError(
        "A corpus must be two files with a comma in between, or one file that "
        f"ends in .tsv or .tmx, each perhaps with .gz. Received: "
        f"{','.join(paths)}. Name it like news.en,news.de or like news.tsv."
    )


def read_pairs(paths, languages=(None, None)):
    """Yields the `(source, target)` of each pair of a corpus.

    `paths` are one or two, see `detect_kind`. Only TMX needs the codes of the
    source and target language.
    """
    kind = detect_kind(paths)
    if kind == "text":
        return text_files.read_pairs(*paths)
    if kind == "tsv":
        return _read_tsv(*paths)
    return _read_tmx(*paths, languages)


def check_pairs(paths, languages=(None, None)):
    """Reads a corpus to the end, which raises an error at any fault.

    A corpus without any pair of text on both sides is a fault, too.
    """
    num_pairs, has_text = 0, False
    for pair in read_pairs(paths, languages):
        num_pairs += 1
        has_text = has_text or not any(map(text_files.is_blank, pair))
    if not has_text:
        content = f"{num_pairs:,} pairs with an empty side"
        raise UserError(
            f"{','.join(paths)} has no pair with text on both sides, but "
            f"{content if num_pairs else 'nothing at all'}. Check that these "
            "are the right files."
        )


def _read_tsv(path):
    for number, line in enumerate(text_files.read_lines(path), 1):
        # Some corpora separate their documents by empty lines.
        columns = ["", ""] if text_files.is_blank(line) else line.split("\t")
        if len(columns) != 2:
            raise UserError(
                "Each line of a TSV file must be a source and a target with "
                f"one tab in between. Received: {path}, line {number}, with "
                f"{len(columns) - 1} tabs. Check the file, or choose two "
                "columns, for example with cut -f1,2."
            )
        yield tuple(columns)


def _read_tmx(path, languages):
    if not all(languages):
        raise UserError(
            "A TMX file must go with the languages to take from it. Received: "
            f"{path} with {_describe(languages)}. Add --source_language=en "
            "--target_language=de, for example."
        )
    seen, num_pairs = set(), 0
    for number, unit in enumerate(_translation_units(path), 1):
        variants = {_code(variant): variant for variant in unit.iter("tuv")}
        seen.update(variants)
        try:
            sides = [_text_in(variants, language) for language in languages]
        except RecursionError as error:
            raise UserError(
                f"{path}, unit {number} has hundreds of elements within each "
                "other. Remove the unit, or its <hi> elements."
            ) from error
        # A file of many languages may lack some of them in a unit.
        if None not in sides:
            num_pairs += 1
            yield tuple(sides)
    if not num_pairs:
        raise UserError(
            f"{path} has no unit in both languages. Received: "
            f"{_describe(languages)}, while the file has "
            f"{', '.join(sorted(seen)) or 'none'}. Name two languages of the "
            "file."
        )


def _describe(languages):
    source, target = (language or "(not given)" for language in languages)
    return f"source_language={source} and target_language={target}"


def _translation_units(path):
    """Yields the `tu` elements of a TMX file as a stream."""
    lines = (line + "\n" for line in text_files.read_lines(path))
    parser = xml.etree.ElementTree.XMLPullParser(["start", "end"])
    body = None
    try:
        while chunk := list(itertools.islice(lines, _LINES_AT_ONCE)):
            parser.feed("".join(chunk))
            for event, element in parser.read_events():
                if body is None and element.tag == "body":
                    body = element
                elif event == "end" and element.tag == "tu":
                    yield element
                    # Otherwise the whole file would gather in memory.
                    if body is not None:
                        body.clear()
        parser.close()
    except xml.etree.ElementTree.ParseError as error:
        line, _ = error.position
        fault = str(error).split(":")[0]
        raise UserError(
            f"{path}, line {line} is not well-formed XML: {fault}. Export or "
            "copy the file again."
        ) from error


def _code(variant):
    """Returns the language of a `tuv`; older versions of TMX write `lang`."""
    return variant.get(_LANGUAGE) or variant.get("lang") or ""


def _text_in(variants, language):
    """Returns the text in a language, or None; `en` also stands for `en-US`."""
    wanted = _parts(language)
    # A unit may have both; sorting puts the shorter code first.
    for code, variant in sorted(variants.items(), key=lambda v: len(v[0])):
        if _parts(code)[: len(wanted)] == wanted:
            segment = variant.find("seg")
            text = "" if segment is None else _plain_text(segment)
            return re.sub(r"\s*[\t\r\n]\s*", " ", text).strip()
    return None


def _parts(code):
    return code.lower().replace("_", "-").split("-")


def _plain_text(segment):
    """Returns the text of a segment without the codes of a layout."""
    texts = [segment.text or ""]
    for child in segment:
        # All other elements hold codes such as "<b>"; `hi` holds text.
        if child.tag == "hi":
            texts.append(_plain_text(child))
        texts.append(child.tail or "")
    return "".join(texts)
