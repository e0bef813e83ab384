"""Measures what repairs do for doubtful translations, and for all others.

    python benchmarks/repair_quality.py run benchmarks/odd_inputs.tsv

The last two columns of the file are texts and references. The quality of
kt-evaluate --calibrate adds alarms, if the run has it.
"""

import sys
import time

import sacrebleu

from keras_transformer.decoding.loading import load_plan
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.preparation import read_windows
from keras_transformer.decoding.translation import Extras
from keras_transformer.formats.demo import find_directory
from keras_transformer.scoring.alarms import FAULTS

ALARMS = {*FAULTS, "reached_limit"}


def translate(translator, texts, **extras):
    """Returns translations, and the processor time that they took."""
    start = time.process_time()
    translations = [
        translation
        for window in read_windows(texts)
        for translation in translator.translate_window(
            window, extras=Extras(warns=True, **extras)
        )
    ]
    return translations, time.process_time() - start


def main(run, path):
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t")[-2:] for line in file]
    texts, references = map(list, zip(*rows))
    plan = plan_model(find_directory(run))
    translator, quality = load_plan(plan), plan.read_quality()
    before, usual = translate(translator, texts, quality=quality)
    after, repaired = translate(
        translator, texts, quality=quality, repairs=True
    )
    has_alarm = [bool(ALARMS.intersection(each.warnings)) for each in before]
    places = [place for place, alarm in enumerate(has_alarm) if alarm]
    left = sum(bool(ALARMS.intersection(each.warnings)) for each in after)
    changed = sum(
        not alarm and old.hypotheses[0].text != new.hypotheses[0].text
        for alarm, old, new in zip(has_alarm, before, after)
    )
    print(
        f"{len(places)} of {len(texts)} translations are doubtful, then {left}"
    )
    for name, translations in (("before", before), ("after", after)):
        score = sacrebleu.corpus_chrf(
            [translations[place].hypotheses[0].text for place in places],
            [[references[place] for place in places]],
        )
        print(f"chrF of these {name}: {score.score:.1f}")
    print(f"other translations that changed: {changed}")
    print(f"processor time: {repaired / usual - 1:+.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
