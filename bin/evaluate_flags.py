"""The flags of kt-evaluate."""

import os

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import output_files
from keras_transformer.files.reading import check_reachable
from keras_transformer.files.writing import check_writable
from keras_transformer.scoring.paper_bleu import is_language

OF_A_RUN = "Scoring a run or an ensemble"  # a group of flags
OF_TEXT = ("tokenize", "language", "lowercase", "compare")
FLAGS = flags.define(
    flags.group(
        OF_A_RUN,
        "output_dir",
        "checkpoint_step",
        "data_dir",
        flags.choice(
            "split",
            ["train", "dev", "test"],
            "Split to decode: dev or test.",
            default="test",
        ),
        flags.text(
            "test_set",
            "Test set of sacreBLEU to decode in place of a split, such as "
            "wmt14/full. Default: none.",
        ),
        "beam_size",
        "alpha",
        "decode_hparams",
        flags.switch(
            "evalb_files",
            "Also write the gold trees and the parsed trees for EVALB.",
        ),
    ),
    flags.group(
        "Scoring files",
        flags.path(
            "hypotheses",
            "File of translations or trees to score, one per line. Default: "
            "none, which decodes a split.",
        ),
        flags.path(
            "references",
            "File of references, one per line. Default: none, which decodes a "
            "split.",
        ),
        flags.choice(
            "measure",
            ["bleu", "f1"],
            "Scores to compute: bleu for text, f1 for trees.",
            default="bleu",
        ),
    ),
    flags.group(
        "BLEU, chrF and TER",
        flags.choice(
            "tokenize",
            ["13a", "none", "intl", "char", "zh"],
            "Tokenizer of the first BLEU: 13a, none, intl, char or zh. "
            "Default: 13a, or none if the problem's text is tokenised.",
        ),
        flags.text(
            "language",
            "Code of the language of the text, such as de, for the paper's "
            "BLEU. Default: the problem's; none for files and translate_files, "
            "which leaves that score out.",
        ),
        flags.switch("lowercase", "Score without regard to case."),
        flags.path(
            "compare",
            "Other outputs for the same text, to be compared by paired "
            "bootstrap: a file, or the directory of a run that kt-evaluate has "
            "decoded the text with. Default: none.",
        ),
        flags.path(
            "report",
            "HTML file to write about where the outputs differ from those of "
            "--compare. Default: none.",
        ),
    ),
)


def refuse(name, rule):
    """Refuses a flag that does not go with what the command is to do.

    Args:
        name: Name of the flag.
        rule: What it must go with, for the message.

    Raises:
        ValueError: If the flag has another value than its default.
    """
    if flags.is_changed(FLAGS, name):
        raise ValueError(
            f"`--{name}` must go with {rule}. Received: "
            f"--{name}={FLAGS[name].value}. Remove it."
        )


def check():
    """Checks the flags that need neither a run nor a file of text.

    Raises:
        ValueError: If one of them is wrong.
    """
    _check_language()
    _check_compare()
    _check_report()


def _check_language():
    if FLAGS.language and not is_language(FLAGS.language):
        raise ValueError(
            "`--language` must be a code of two or three small letters. "
            f"Received: --language={FLAGS.language}. Write a code such as de."
        )


def _check_compare():
    path = FLAGS.compare
    if not path:
        return
    check_reachable(path)
    if not os.path.exists(path):
        raise ValueError(
            "`--compare` must be a file of outputs or the directory of a run. "
            f"Received: --compare={path}, which does not exist. Check the path."
        )
    if FLAGS.hypotheses and os.path.isdir(path):
        raise ValueError(
            "`--compare` must be a file if `--hypotheses` is one. Received: "
            f"--compare={path}, which is a directory. Name a file of outputs, "
            "such as decodes/test.txt of a run."
        )


def _check_report():
    if not FLAGS.report:
        return
    flags.require(FLAGS, "compare", by="report")
    output_files.check_output(
        "report", FLAGS, ("hypotheses", "references", "compare")
    )
    check_writable(FLAGS.report, "`--report`")
