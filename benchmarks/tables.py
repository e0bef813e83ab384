"""Trains the models of published tables, and prints ours beside theirs.

`make tables DATA=folder` calls this. The folder holds `g2p_2021` and `scan`,
with the files of their distributors. A training that has its result already is
not run again, and one that was stopped continues. `--only=scan` selects the
trainings whose names begin so, and `--table` prints the table alone. The
results behind benchmarks/tables.md are in benchmarks/tables_results:

    python benchmarks/tables.py DATA WORK --results=benchmarks/tables_results
"""

import argparse
import collections
import csv
import dataclasses
import datetime
import itertools
import json
import pathlib
import re
import subprocess
import sys

import history
import tables_data

from keras_transformer import load
from keras_transformer.bin.sweep import run_command
from keras_transformer.files import markdown

ABSOLUTE = {"positional_encoding": "sinusoidal", "max_relative_position": 0}
POSITIONS = {
    "sinusoids": ABSOLUTE,
    "learned": {**ABSOLUTE, "positional_encoding": "learned"},
    "relative": {"positional_encoding": "none", "max_relative_position": 16},
}
TASK_1 = "SIGMORPHON 2021, baseline, an ensemble"
CSORDAS = "Csordás et al. (2021), best of their models"
G2P_SEQ2SEQ = "g2p-seq2seq, the Transformer of Tensor2Tensor"
FIVE = tuple(range(5))  # seeds
TEN = tuple(range(10))  # as many as the ensemble of the baseline has
QUICK = {"peak_learning_rate": 0.004}
SHORT = {"dropout": 0.1, "train_steps": 1000, **QUICK}
LONG = {"dropout": 0.1, "train_steps": 5000, **QUICK}
G2P = {
    "hparams": {},
    "minutes": 8,
    "seeds": TEN,
    "needs": "g2p_2021",
}
# Test WER by language, and exact match by split: what others printed.
PRINTED = {
    **{"bul": 18.3, "dut": 14.7, "fre": 8.5, "hun": 1.8, "kor": 16.3},
    **{"ady": 22, "gre": 21, "ice": 12, "ita": 19, "rum": 10},
    **{"eng_us": 41.94, "cmudict": 31, "length, cut-off 26": 100},
}


@dataclasses.dataclass(frozen=True)
class Training:
    """Runs of one recipe on one set of data, with a seed each."""

    name: str
    problem: str
    hparams: dict
    minutes: float  # of one seed, on one core
    seeds: tuple = (0,)
    # Writes files below a folder, and returns the flags of kt-datagen.
    make_data: object = lambda data_dir, folder: []
    needs: str = ""  # folder in `data_dir`
    group: object = None  # of a source, for a row of its own; else the name
    measure: str = "exact match"
    source: str = ""  # of the printed figures
    differs: str = "same protocol"  # or what differs from it
    num_lines: int | None = None  # of test that are decoded
    beam_size: int = 4
    # Returns what else is right, as a list of targets by source.
    read_alternatives: object = dict

    @property
    def has_ensemble(self):
        return len(self.seeds) > 1 and self.measure == "WER"


def make_g2p_trainings():
    """Yields the trainings of pronunciations."""
    low = ("ady", "gre", "ice", "ita", "rum")
    guided = {"guided_alignment": 0.5}
    short = {"hparams": {"train_steps": 2000, **QUICK}, "minutes": 4}
    shared = short | {
        "hparams": {**short["hparams"], **guided},
        "group": tables_data.find_tag,
        "differs": "one model for all five",
    }
    english = {
        "hparams": {"positional_encoding": "sinusoidal", **QUICK},
        "minutes": 20,
        "seeds": (0,),
        "differs": "one run",
    }
    for name, languages, changes in (
        ("low", low, shared),
        # What is better on dev; Hungarian had no second try.
        *((name, (name,), short) for name in ("bul", "hun")),
        *((name, (name,), {}) for name in ("fre", "dut")),
        ("kor", ("kor",), {"hparams": guided}),
        ("eng_us", ("eng_us",), english),
    ):
        yield Training(
            f"g2p: {name}",
            "g2p_files",
            make_data=tables_data.name_g2p_files(*languages),
            measure="WER",
            source=TASK_1,
            **G2P | changes,
        )
    yield Training(
        "g2p: cmudict",
        "g2p_files",
        make_data=tables_data.write_cmudict_files,
        measure="WER",
        source=G2P_SEQ2SEQ,
        read_alternatives=tables_data.read_cmudict,
        **english
        | {
            "hparams": {**english["hparams"], "dropout": 0.1},
            "differs": "our split, one run",
        },
    )


def make_trainings():
    """Yields every `Training`, the important ones first."""
    yield from make_g2p_trainings()
    for split, cutoff, words in (
        ("simple", None, "simple"),
        ("length", 26, "length, cut-off 26"),
        ("addprim_jump", None, "add jump"),
        ("length", None, "length"),
    ):
        for positions in ("relative", "sinusoids"):
            yield Training(
                f"scan: {words}: {positions}",
                "translate_files",
                {**POSITIONS[positions], **LONG},
                minutes=12,
                seeds=FIVE,
                make_data=tables_data.write_scan_files(split, cutoff),
                needs="scan",
                source=CSORDAS if cutoff else "",
                differs="5,000 updates",
                beam_size=1,
            )
    for function, positions in itertools.product(
        ("identity", "reverse", "addition"), POSITIONS
    ):
        yield Training(
            f"lengths: {function}: {positions}",
            f"algorithmic_{function}_decimal40",
            {
                "max_length": 512,
                **POSITIONS[positions],
                **(LONG if function == "addition" else SHORT),
            },
            minutes=15 if function == "addition" else 3,
            seeds=FIVE,
            group=tables_data.find_lengths,
            num_lines=1000,
            beam_size=1,
        )


def train(training, data_dir, work, result):
    """Trains the seeds that a result lacks; yields it after each.

    It also has the ensemble of the runs in `work`, unless it has a larger one.
    """
    folder = work / make_file_name(training.name)
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [sys.executable, "-m", "keras_transformer.bin.datagen"]
        + [f"--problem={training.problem}", f"--data_dir={data}"]
        + training.make_data(data_dir, folder),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    sides = [
        (data / training.problem / f"test.{side}.txt")
        .read_text(encoding="utf-8")
        .splitlines()[: training.num_lines]
        for side in ("source", "target")
    ]
    runs = [folder / f"seed{seed}" for seed in training.seeds]
    for seed, run in zip(training.seeds, runs):
        if str(seed) in result["runs"]:
            continue
        train_seed(training, data, run, seed)
        result["runs"][str(seed)] = {
            "scores": translate_and_score(training, sides, run),
            "minutes": round(read_minutes(run), 1),
            "machine": history.describe_machine(),
            "commit": history.find_commit(),
            "date": datetime.date.today().isoformat(),
        }
        members = [
            run
            for seed, run in zip(training.seeds, runs)
            if str(seed) in result["runs"] and is_run(run)
        ]
        size = result["ensemble"].get("runs", 1)
        if training.has_ensemble and len(members) > size:
            result["ensemble"] = {
                "runs": len(members),
                "scores": translate_and_score(training, sides, members),
            }
        yield result


def train_seed(training, data, run, seed):
    """Trains one run by kt-trainer, or continues it."""
    run.mkdir(exist_ok=True)
    hparams = {**training.hparams}
    if steps := hparams.get("train_steps"):
        hparams["decay_steps"] = steps
    changes = (f"{key}={value}" for key, value in hparams.items())
    failure = run_command(
        "trainer",
        str(run),
        [
            f"--problem={training.problem}",
            f"--data_dir={data}",
            "--hparams_set=transformer_g2p",
            f"--random_seed={seed}",
            f"--eval_frequency={steps or 5000}",
            f"--hparams={','.join(changes)}",
        ],
    )
    if failure:
        raise SystemExit(f"{training.name}: {failure}")


def translate_and_score(training, sides, run):
    """Returns the scores of a run, or of a list of them as an ensemble."""
    outputs = load(run)(sides[0], beam_size=training.beam_size)
    return score(training, sides, outputs)


def make_file_name(name):
    return re.sub(r"\W+", "_", name)


def is_run(path):
    return (path / "metrics.csv").exists()


def read_minutes(run):
    """Returns the minutes of all updates of a run."""
    with open(run / "metrics.csv", encoding="utf-8", newline="") as file:
        return float(list(csv.DictReader(file))[-1]["seconds"]) / 60


def score(training, sides, outputs):
    """Returns the percentage of lines that are all right, by group."""
    rights = collections.defaultdict(list)
    alternatives = training.read_alternatives()
    for source, target, output in zip(*sides, outputs, strict=True):
        group = training.group(source) if training.group else ""
        right = output in (target, *alternatives.get(source, ()))
        rights[group].append(right)
    return {
        group: round(100 * sum(some) / len(some), 2)
        for group, some in sorted(rights.items(), key=_sort_group)
    }


def _sort_group(item):
    number = re.match(r"\d+", item[0])
    return int(number.group()) if number else 0, item[0]


def make_table(trainings, results):
    """Returns the table in Markdown of all results."""
    head = "data|measure|ours, each seed|ours, ensemble|theirs|source|differs"
    rows = []
    for training in trainings:
        if not (result := results[training.name])["runs"]:
            continue
        runs = result["runs"].values()
        is_rate = training.measure == "WER"
        groups = list(next(iter(runs))["scores"])
        # Beyond the first length of which nothing is right, nothing ever is.
        is_length = training.group is tables_data.find_lengths
        while (
            is_length
            and len(groups) > 1
            and not any(
                run["scores"][group] for run in runs for group in groups[-2:]
            )
        ):
            groups.pop()
        for group in groups:
            key = group or training.name.split(": ")[1]
            figures = [run["scores"][group] for run in runs]
            rows.append(
                [
                    ": ".join(filter(None, (training.name, group))),
                    training.measure,
                    ", ".join(_show(value, is_rate) for value in figures),
                    _show_ensemble(result["ensemble"], group, is_rate),
                    str(PRINTED.get(key, "")) if training.source else "",
                    training.source,
                    training.differs if training.source else "",
                ]
            )
    return markdown.table(head.split("|"), rows)


def _show_ensemble(ensemble, group, is_rate):
    if not ensemble:
        return ""
    return f"{_show(ensemble['scores'][group], is_rate)} of {ensemble['runs']}"


def _show(value, is_rate):
    return f"{100 - value if is_rate else value:.1f}"


def main(arguments, trainings=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", help="folder with g2p_2021 and scan")
    parser.add_argument("work", type=pathlib.Path, help="folder of the runs")
    parser.add_argument("--only", default="", help="begin of names")
    parser.add_argument("--table", action="store_true", help="print only")
    parser.add_argument(
        "--results",
        type=pathlib.Path,
        help="folder of the scores. Defaults to one in the folder of the runs",
    )
    options = parser.parse_args(arguments)
    trainings = trainings or list(make_trainings())
    results_dir = options.results or options.work / "results"
    results = read_results(results_dir, trainings)
    missing = [
        (training, lacks)
        for training in trainings
        if not options.table
        and training.name.startswith(options.only)
        and (lacks := count_missing(training, results[training.name]))
    ]
    for training, _ in missing:
        folder = pathlib.Path(options.data_dir, training.needs)
        if not folder.is_dir():
            parser.exit(2, f"tables.py: error: {folder} is not a folder.\n")
    if missing:
        minutes = sum(training.minutes * lacks for training, lacks in missing)
        print(
            f"{len(missing)} of {len(trainings)} trainings are to be run: about"
            f" {minutes / 60:.1f} hours on one core.",
            file=sys.stderr,
        )
    results_dir.mkdir(parents=True, exist_ok=True)
    for training, _ in missing:
        result = results[training.name]
        for _ in train(training, options.data_dir, options.work, result):
            path = results_dir / f"{make_file_name(training.name)}.json"
            text = json.dumps(result, indent=1, ensure_ascii=False)
            path.write_text(text + "\n", encoding="utf-8")
            print(text, file=sys.stderr)
    print(make_table(trainings, results))


def read_results(folder, trainings):
    """Returns the results by the names of trainings; new ones are empty.

    Results of another recipe do not count.
    """
    results = {}
    for training in trainings:
        name, hparams = training.name, training.hparams
        result = {"name": name, "hparams": hparams, "runs": {}, "ensemble": {}}
        path = folder / f"{make_file_name(name)}.json"
        if path.exists():
            found = json.loads(path.read_text(encoding="utf-8"))
            result = found if found["hparams"] == hparams else result
        results[name] = result
    return results


def count_missing(training, result):
    """Returns how many seeds of a training have no result yet."""
    return sum(str(seed) not in result["runs"] for seed in training.seeds)


if __name__ == "__main__":
    main(sys.argv[1:])
