"""Averages the last checkpoints of a run into a new run.

    kt-avg-checkpoints --output_dir=run --num_last_checkpoints=10
    kt-evaluate --output_dir=run/averaged

The command averages, in float64, the newest checkpoint and the ones before it
that were written at evaluations. With --checkpoints=timed it averages the
checkpoints that kt-trainer wrote at fixed intervals of training time, as
Vaswani et al. (2017) did. The averaged run can be decoded, evaluated and
exported like any other run, but not trained further. The command prints the new
run's directory to standard output.

--start_share=0.5 also mixes in the weights that a run started from. So a model
that was fitted to a domain forgets less of what it knew (Wortsman et al.,
2022).

An average can be worse than a single checkpoint, above all if the checkpoints
are far apart or the model still improves quickly. The command therefore
measures the average, the newest checkpoint and the best one on dev, as
kt-trainer does: the loss, and BLEU or F1 of greedy search. With --noevaluate
it skips this and needs no backend.
"""

import functools
import os
import sys

from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError

FLAGS = flags.define(
    """
  output_dir
  num_last_checkpoints (count, default 5): Number of checkpoints to average,
    counted from the newest.
  checkpoints (evaluated|timed, default evaluated): Checkpoints to average:
    evaluated for the newest one and those written at evaluations, or timed for
    those that --timed_checkpoint_minutes makes.
  start_share (amount, default 0.0, maximum 1): Share of the weights that the
    run started from (--warm_start_from of kt-trainer), so that it forgets less
    of what they knew.
  averaged_dir (path): Directory of the averaged run. Default: averaged, inside
    output_dir.
  evaluate (optional switch): Measure the average, the newest and the best
    checkpoint on dev. Default: true if the data are in the data directory.
  data_dir
"""
)


def main(argv):
    flags.require(FLAGS, "output_dir")
    from keras_transformer.runs import model_card
    from keras_transformer.runs.averaging import average_run

    run = model_flags.open_run(FLAGS.output_dir)
    model_card.make_model_card(run)
    path = FLAGS.averaged_dir or run.file("averaged")
    # Fails on unusable data before the average is computed.
    problem, fault = _problem(run)
    evaluate = problem and functools.partial(_evaluate, run, problem)
    averaged_run = average_run(
        run,
        FLAGS.num_last_checkpoints,
        path,
        evaluate,
        FLAGS.checkpoints,
        FLAGS.start_share,
    )
    model_card.write_model_card(path, averaged_run)
    if problem is None:
        _print_steps(averaged_run.averaged_steps)
    if fault:
        print(f"The average is not measured on dev. {fault}", file=sys.stderr)
    # Only the path goes to standard output, for $(kt-avg-checkpoints ...).
    print(path)


def _problem(run):
    """Returns the problem to measure on or None, and why there is none."""
    if FLAGS.evaluate is False:
        return None, None
    try:
        return _usable_problem(run), None
    except (OSError, ValueError) as error:
        if FLAGS.evaluate:
            raise
        return None, " ".join(str(error).split())


def _usable_problem(run):
    data_dir = FLAGS.data_dir or run.record.get("data_dir")
    problem = registry.get_problem(run.problem_name, data_dir)
    if not data_dir or not os.path.isdir(problem.directory):
        raise UserError(
            f"There is no data of {run.problem_name} in {data_dir} to measure "
            "the average on. Name its directory with --data_dir, or use "
            "--noevaluate."
        )
    problem.text_split("dev")
    problem.evaluation_batches(run.hparams.batch_tokens)
    if problem.vocabularies.model_bytes != run.vocabularies.model_bytes:
        raise UserError(
            f"The data in {problem.directory} has a different vocabulary from "
            "the run's. Name the directory of the run's data with --data_dir, "
            "or use --noevaluate."
        )
    return problem


def _evaluate(run, problem, steps, arrays):
    """Prints how good an average is, and returns its metrics."""
    _print_steps(steps)
    # The average is measured on one machine, even if training used several.
    os.environ.pop("TF_CONFIG", None)
    load_backend()
    from keras_transformer.training.evaluator import report_average

    # A share of the start is meant to lose some quality on the run's dev set.
    warn = not FLAGS.start_share
    return report_average(problem, run, len(steps), arrays, warn)


def _print_steps(steps):
    from keras_transformer.runs.averaging import describe_steps

    print(f"The average is of {describe_steps(steps)}.", file=sys.stderr)


run = command.make_script(main, FLAGS)
