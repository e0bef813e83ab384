"""The flags of kt-evaluate, and the checks that need no run."""

import os

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.text_io import check_outputs
from keras_transformer.files.reading import check_reachable
from keras_transformer.scoring.measures import MEASURES
from keras_transformer.scoring.translations import check_tokenizer
from keras_transformer.scoring.translations import is_language

OF_A_RUN = "Scoring a run or an ensemble"  # a group of flags
TOKENIZERS = ["13a", "none", "intl", "char", "zh", "ja-mecab", "ko-mecab"]
TOKENIZERS += ["flores200", "spm"]
OF_BLEU = ("tokenize", "language", "lowercase")
OF_TEXT = (*OF_BLEU, "compare")
FLAGS = flags.define(
    f"""
{OF_A_RUN}:
  output_dir
  checkpoint_step
  data_dir
  split (train|dev|test): Split to decode: dev or test. Default: test, or dev if
    the data has no test or with calibrate.
  test_set (text): Test set of sacreBLEU to decode instead of a split, such as
    wmt14/full. Default: none.
  beam_size
  alpha
  decode_hparams
  engine
  stress (switch): Also score the text in capitals, with typos, without accents,
    and under other disturbances of the sources.
  calibrate (switch): Fit an estimate of the quality of each translation on the
    text, by default dev, and write it to quality.json in the run.
  evalb_files (switch): Also write the gold trees and the parsed trees for
    EVALB, as SPLIT.gold and SPLIT.test beside the outputs.
Scoring every checkpoint:
  translations_dir (path): Directory for the translations of --source by every
    checkpoint of the run, and for their scores. Default: none.
  source (path, needs translations_dir): File to translate, one sentence per
    line.
  wait_minutes (amount, default 0, needs translations_dir): Number of minutes to
    wait for another checkpoint.
  min_steps (whole, default 0, needs translations_dir): Minimum number of steps
    of a checkpoint.
Scoring files:
  hypotheses (path): File of translations or trees to score, one per line.
    Default: none, which decodes a split.
  references (paths): File of references, one per line, or several files
    separated by commas, with a reference each. Default: none, which decodes a
    split.
  measure ({"|".join(MEASURES)}): Scores to compute: f1 for trees; exact_match
    or an error rate for all three of these; bleu, chrf or ter for these three.
    Default: bleu, or for a run the problem's measure.
BLEU, chrF and TER:
  tokenize ({"|".join(TOKENIZERS)}): Tokenizer of the first BLEU: one of
    {", ".join(TOKENIZERS)}. Default: zh, ja-mecab, ko-mecab or char if the
    language or the references need it, none if the problem's text is tokenised,
    or else 13a.
  language (text): Code of the language of the text, such as de, for the paper's
    BLEU. Default: the problem's; none for files and translate_files, which
    leaves that score out.
  lowercase (switch): Score without regard to case.
  compare (path): Other outputs for the same text, to be compared by paired
    bootstrap: a file, or the directory of a run that kt-evaluate has decoded
    the text with. Default: none.
  html (path, needs compare): HTML page to write about where the outputs differ
    from those of --compare. Default: none.
"""
)


def check_flags():
    """Checks the flags that need neither a run nor a file of text."""
    if FLAGS.language and not is_language(FLAGS.language):
        rule = "must be a code of two or three small letters"
        flags.refuse(FLAGS, ["language"], rule, "Write a code such as de.")
    if FLAGS.tokenize in TOKENIZERS[-4:]:  # which need other packages or files
        check_tokenizer(FLAGS.tokenize)
    if path := FLAGS.compare:
        check_reachable(path)
        if not os.path.exists(path):
            rule = "must be an existing file of outputs or directory of a run"
            flags.refuse(FLAGS, ["compare"], rule, "Check the path.")
        if FLAGS.hypotheses and os.path.isdir(path):
            rule = "must be a file and no directory if `--hypotheses` is one"
            way_out = "Name a file such as decodes/test.txt of a run."
            flags.refuse(FLAGS, ["compare"], rule, way_out)
    if FLAGS.html:
        inputs = ("hypotheses", "references", "compare")
        check_outputs(FLAGS, ["html"], inputs)
