"""Translates a file with every checkpoint of a run, even during its training.

The directory of translations gets a file for each checkpoint, and the curves
for TensorBoard. The files show a later call what is done.
"""

import hashlib
import os
import re
import sys
import time

from keras_transformer.bin.kt_evaluate.evaluate_flags import FLAGS
from keras_transformer.bin.kt_evaluate.evaluate_flags import OF_BLEU
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared import text_io
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.directories import check_directory
from keras_transformer.files.writing import atomic_write
from keras_transformer.files.writing import keep_settings

_SEARCH = ("output_dir", "beam_size", "alpha", "decode_hparams")
# t2t-translate-all needs the data's directory, too.
_TAKES = (*_SEARCH, "source", "references", "translations_dir", "min_steps")
_TAKES += ("wait_minutes", "engine", "data_dir", *OF_BLEU, *flags.EVERYWHERE)


def score_checkpoints():
    """Scores each checkpoint, and waits for more as long as the flags say."""
    flags.require(FLAGS, "output_dir", "source", "references")
    others = [name for name in FLAGS if name not in _TAKES]
    flags.refuse(FLAGS, others, "cannot be combined with --translations_dir")
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.scoring import translations
    from keras_transformer.training.log import EventFile

    run = RunDirectory(model_flags.single_output_dir(FLAGS, "follow"))
    if run.linearization:
        flags.refuse(FLAGS, ["translations_dir"], "needs a run that translates")
    sides = text_files.read_sides(FLAGS.source, *FLAGS.references)
    sources, first, *more_references = sides
    check_directory(FLAGS.translations_dir, "`--translations_dir`")
    os.makedirs(FLAGS.translations_dir, exist_ok=True)
    # Earlier translations are of this text with this search.
    settings = {name: FLAGS[name].value for name in _SEARCH}
    settings["source"] = f"sha256:{_hash_source(sources)}"
    path = os.path.join(FLAGS.translations_dir, "settings.json")
    keep_settings(path, settings)
    language = FLAGS.language
    tokenize = FLAGS.tokenize or translations.choose_tokenizer(language, first)
    # A new file from the first step on replaces the curves of earlier calls.
    events = EventFile(FLAGS.translations_dir, last_step=-1)
    is_empty = True
    for step in _follow(run):
        path = os.path.join(FLAGS.translations_dir, f"ckpt-{step}.txt")
        if os.path.exists(path) or _translate(run, step, sources, path):
            lines = text_files.read_parallel_lines(
                path, len(sources), FLAGS.source
            )
            report = translations.translation_report(
                *(lines, first, language, tokenize, FLAGS.lowercase),
                more_references=more_references,
            )
            events.write(step, report.scores)
            print(f"step {step}", *report.lines, sep="\t", flush=True)
            is_empty = False
    if is_empty:
        number = f"a step of at least {FLAGS.min_steps}"
        print(f"{run.path} has no checkpoint with {number}.", file=sys.stderr)


def _hash_source(lines):
    if text_io.is_file(FLAGS.source):
        return text_files.sha256(FLAGS.source)
    # A pipe is at its end now. Its lines hash like a file of them.
    content = "".join(f"{line}\n" for line in lines)
    return hashlib.sha256(content.encode()).hexdigest()


def _follow(run):
    """Yields the steps of translations and checkpoints, as they appear."""
    done, seconds = set(), 60 * FLAGS.wait_minutes
    end = time.monotonic() + seconds
    while True:
        names = "\n".join(os.listdir(FLAGS.translations_dir))
        steps = set(map(int, re.findall(r"^ckpt-(\d+)\.txt$", names, re.M)))
        # The other checkpoints are to resume from, and are soon deleted, except
        # for the last one of a run that was stopped.
        lasting = set(run.checkpoints.timed_steps)
        lasting.update(one.step for one in run.checkpoints.evaluations)
        if is_over := time.monotonic() >= end:
            lasting.update(run.checkpoints.steps)
        steps |= lasting.intersection(run.checkpoints.steps)
        if new := {step for step in steps - done if step >= FLAGS.min_steps}:
            done.add(min(new))
            yield min(new)
            end = time.monotonic() + seconds
        elif is_over:
            return
        else:
            time.sleep(1)


def _translate(run, step, sources, path):
    """Writes a file of translations; returns whether the checkpoint exists."""
    from keras_transformer.decoding import outputs
    from keras_transformer.decoding.plan import plan_runs
    from keras_transformer.files.progress import Progress

    changes = model_flags.decode_changes(FLAGS)
    try:
        plan = plan_runs(run.path, step, FLAGS.engine, changes)
        if plan.engine == "keras":
            load_backend()
        translator = outputs.load_translator(plan)
    except (OSError, UserError):
        if step in run.checkpoints.steps:
            raise
        print(f"The training has deleted checkpoint {step}.", file=sys.stderr)
        return False
    with Progress("sentences", len(sources), f"step {step}") as progress:
        lines = translator.translate(sources, progress.add, **changes)
        with atomic_write(path) as file:
            file.writelines(f"{line}\n" for line in lines)
    return True
