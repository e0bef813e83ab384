"""Compares the page of a run in Chromium and Firefox with the run in Keras.

    python benchmarks/html_page.py RUN [NUMBER]

The weights of a copy of the run are rounded to the 8 bits that its page has, so
that Keras computes with the same ones. Both translate the first 200 or NUMBER
sources of the test split greedily and with a beam of 4. Firefox takes 100 of
them, greedily. The page is opened from the disk, without a network. For each
translation that differs, a line has both, with their scores by Keras.
"""

import json
import pathlib
import shutil
import sys
import tempfile

from firefox import Firefox
from playwright.sync_api import sync_playwright

from keras_transformer.decoding.certificate import compare
from keras_transformer.decoding.translator import Translator
from keras_transformer.files.array_files import write_arrays
from keras_transformer.formats.html.writer import export_html
from keras_transformer.formats.html.writer import quantize
from keras_transformer.runs.data_record import find_problem
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import read_weights
from keras_transformer.search.options import DecodeOptions

ALPHA = 0.6
NUM_IN_FIREFOX = 100
# Runs in the page, and returns the milliseconds from its opening to the first
# translation, and all translations.
TRANSLATE = """(async ([texts, size]) => {
  await opened;
  const translations = [];
  let first;
  for (const text of texts) {
    translations.push((await ask("translate", text, size)).text);
    first ??= performance.now();
  }
  return [first, translations];
})"""


def round_run(path, folder):
    """Copies a run, rounds its weights, and returns the copy."""
    run = RunDirectory(str(shutil.copytree(path, folder)))
    step = run.checkpoints.find()
    arrays = read_weights(run.checkpoints, step)
    for name, array in arrays.items():
        if array.ndim == 2:
            numbers, scales = quantize(array)
            arrays[name] = numbers * scales
    write_arrays(run.checkpoints.path(step), arrays)
    return run


def report(name, translator, beam_size, theirs, texts):
    """Prints what is equal, and how long the first translation took."""
    pairs = []

    def ours(texts):
        pairs.append(translator(texts, beam_size=beam_size, alpha=ALPHA))
        return pairs[-1], None

    def translate(texts):
        first, translations = theirs([texts, beam_size])
        print(f"{name}, beam {beam_size}: the first came after {first:.0f} ms.")
        pairs.append(translations)
        return translations, None

    print(compare(ours, translate, texts))
    for text, *pair in zip(texts, *pairs, strict=True):
        if pair[0] != pair[1]:
            scores = translator.score([text] * 2, pair, alpha=ALPHA)
            print(text, *zip(pair, scores), sep="\n  ")


def main(run_path, number="200"):
    texts = find_problem(RunDirectory(run_path)).text_split("test")[0]
    texts = texts[: int(number)]
    with tempfile.TemporaryDirectory() as folder:
        run = round_run(run_path, f"{folder}/run")
        options = DecodeOptions.from_hparams(run.hparams)
        path = export_html(run, folder, options.replace(alpha=ALPHA))
        address = pathlib.Path(path).as_uri()
        translator = Translator.load(run.path, engine="keras")
        with Firefox() as firefox:

            def in_firefox(arguments):
                firefox.visit(address)
                return firefox.evaluate(f"{TRANSLATE}({json.dumps(arguments)})")

            few = texts[:NUM_IN_FIREFOX]
            report("Firefox", translator, 1, in_firefox, few)
            print(f"Its console has {len(firefox.log)} messages.")
        with sync_playwright() as driver:
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_context(offline=True).new_page()

            def in_chromium(arguments):
                page.goto(address)
                return page.evaluate(TRANSLATE, arguments)

            for beam_size in (1, 4):
                report("Chromium", translator, beam_size, in_chromium, texts)
            browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
