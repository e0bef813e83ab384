"""Compares the translations of exports with those of their run.

    npm install --prefix=MODULES @huggingface/transformers
    python benchmarks/exported_translations.py RUN MODULES [NUMBER]

It exports the run as ONNX and as a page. Both translate the first 1,000 or
NUMBER sources of the test split greedily: ONNX Runtime in float32 and in 8
bits, transformers.js in float32 under Node.js and in Chromium, and the page in
Chromium and in Firefox. Chromium's page also searches with a beam of 4, and so
does `onnx_beam.py`, since other programs search an export of ONNX greedily.

Keras translates the same sources. Beside the page, its weights are rounded to
the same 8 bits, and it is compared with itself in float32. The result is the
number of equal texts and BLEU of Keras and of the other. For each translation
that differs, a line has both, with their scores by Keras.
"""

import functools
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from firefox import Firefox
from onnx_beam import ALPHA
from onnx_beam import BEAM_SIZE
from playwright.sync_api import sync_playwright

from keras_transformer.decoding.certificate import translate_ids
from keras_transformer.decoding.translator import Translator
from keras_transformer.files.array_files import write_arrays
from keras_transformer.formats.exported import quantize
from keras_transformer.formats.html.writer import export_html
from keras_transformer.formats.onnx.session import OnnxSession
from keras_transformer.formats.onnx.writer import QUANTIZED
from keras_transformer.formats.onnx.writer import export_onnx
from keras_transformer.runs.data_record import find_problem
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import read_weights
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.search.options import DecodeOptions

DIST = "modules/@huggingface/transformers/dist"
# Returns the milliseconds from the opening of a page to the first translation,
# and all translations.
IN_PAGE = """(async ([texts, size]) => {
  await opened;
  const translations = [];
  let first;
  for (const text of texts) {
    translations.push((await ask("translate", text, size)).text);
    first ??= performance.now();
  }
  return [first, translations];
})"""
IN_TRANSFORMERS_JS = """(async ([root, library, texts, limits]) => {
  const {env, pipeline} = await import(root + library);
  env.allowRemoteModels = false;
  env.useBrowserCache = false;
  env.allowLocalModels = true;
  env.localModelPath = new URL(root).pathname + "models/";
  if (root.startsWith("http"))
    env.backends.onnx.wasm.wasmPaths = root + "modules/onnxruntime-web/dist/";
  const translate = await pipeline("translation", "run", {dtype: "fp32"});
  const translations = [];
  for (const [number, text] of texts.entries()) {
    const [best] = await translate(text, {max_new_tokens: limits[number]});
    translations.push(best.translation_text);
  }
  return translations;
})"""


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_):
        pass


class Reference:
    """The translations of Keras, to which others are compared.

    `as_read` tells that texts are read in the case that they are in, as
    programs do that have only a tokenizer.
    """

    def __init__(self, run, texts, references, as_read):
        self.translator = Translator.load(run.path, engine="keras")
        self.extra_length = run.hparams.decoding.extra_length
        self.texts, self.references = texts, references
        self.as_read = as_read

    @functools.cache
    def translate(self, beam_size):
        options = {"beam_size": beam_size, "alpha": ALPHA}
        if self.as_read:
            return translate_ids(self.translator, self.texts, **options)[0]
        return self.translator(self.texts, **options)

    def compare(self, name, beam_size, translations):
        """Prints what is equal, and what is not."""
        ours, number = self.translate(beam_size), len(self.texts)
        rows = list(zip(self.texts, ours, translations, strict=True))
        rows = [row for row in rows if row[1] != row[2]]
        bleu = [
            bleu_report(each, self.references).scores["bleu"]
            for each in (ours, translations)
        ]
        print(
            f"{name}, beam {beam_size}: {number - len(rows)} of {number} texts "
            "are equal; BLEU is {:.2f} and {:.2f}.".format(*bleu),
            flush=True,
        )
        for text, *pair in rows:
            scores = self.translator.score([text] * 2, pair, alpha=ALPHA)
            print(text, *zip(pair, scores), sep="\n  ")


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


def evaluate_in_chromium(address, script, arguments, **options):
    """Opens a page, and returns what a function in it returns."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_context(**options).new_page()
        page.goto(address)
        result = page.evaluate(script, arguments)
        browser.close()
    return result


def compare_onnx(run, reference, folder, modules):
    """Compares ONNX Runtime and transformers.js with Keras."""
    options = DecodeOptions.from_hparams(run.hparams)
    path = export_onnx(run, str(folder / "onnx"), options)
    texts, extra_length = reference.texts, reference.extra_length
    for suffix, precision in {"": "float32", QUANTIZED: "8 bits"}.items():
        name = f"ONNX Runtime, {precision}"
        found = OnnxSession(path, suffix).translate(texts, extra_length)
        reference.compare(name, 1, found[0])
        found = search_with_beam(path, suffix, texts, extra_length)
        reference.compare(name, BEAM_SIZE, found)
    (folder / "models").mkdir()
    (folder / "models" / "run").symlink_to(path)
    modules = pathlib.Path(modules, "node_modules").absolute()
    (folder / "modules").symlink_to(modules)
    # A weak model may repeat itself up to the limit, which is that of Keras.
    sources = run.source_vocabulary.encode(texts)
    limits = [len(ids) + extra_length for ids in sources]
    found = translate_in_node(folder, texts, limits)
    reference.compare("transformers.js in Node.js", 1, found)
    handler = functools.partial(QuietHandler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/"
        found = evaluate_in_chromium(
            f"{root}models/run/config.json",
            IN_TRANSFORMERS_JS,
            [root, f"{DIST}/transformers.min.js", texts, limits],
        )
        server.shutdown()
    reference.compare("transformers.js in Chromium", 1, found)


def search_with_beam(path, suffix, texts, extra_length):
    program = pathlib.Path(__file__).with_name("onnx_beam.py")
    done = subprocess.run(
        [sys.executable, program, path, suffix, str(extra_length)],
        input=json.dumps(texts),
        stdout=subprocess.PIPE,
        env={**os.environ, "KERAS_BACKEND": "numpy"},
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def translate_in_node(folder, texts, limits):
    library = f"{DIST}/transformers.node.mjs"
    arguments = json.dumps([f"{folder.as_uri()}/", library, texts, limits])
    script = f"{IN_TRANSFORMERS_JS}({arguments}).then((translations) => "
    script += "console.log(JSON.stringify(translations)));"
    done = subprocess.run(
        [shutil.which("node"), "--input-type=module", "-"],
        input=script,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def compare_page(run, reference, folder):
    """Compares the page in Chromium and in Firefox with Keras."""
    options = DecodeOptions.from_hparams(run.hparams).replace(alpha=ALPHA)
    path = export_html(run, str(folder / "page"), options)
    address, texts = pathlib.Path(path).as_uri(), reference.texts
    for beam_size in (1, BEAM_SIZE):
        first, found = evaluate_in_chromium(
            address, IN_PAGE, [texts, beam_size], offline=True
        )
        print(f"The first translation came after {first:.0f} ms.")
        reference.compare("The page in Chromium", beam_size, found)
    with Firefox() as firefox:
        firefox.visit(address)
        arguments = json.dumps([texts, 1])
        _, found = firefox.evaluate(f"{IN_PAGE}({arguments})")
        print(f"Its console has {len(firefox.log)} messages.")
    reference.compare("The page in Firefox", 1, found)


def main(run_path, modules, number="1000"):
    run = RunDirectory(run_path)
    texts, references = (
        side[: int(number)] for side in find_problem(run).text_split("test")
    )
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        reference = Reference(run, texts, references, as_read=True)
        compare_onnx(run, reference, folder, modules)
        exact = Reference(run, texts, references, as_read=False)
        run = round_run(run_path, folder / "run")
        reference = Reference(run, texts, references, as_read=False)
        for beam_size in (1, BEAM_SIZE):
            exact.compare(
                "Keras in 8 bits", beam_size, reference.translate(beam_size)
            )
        compare_page(run, reference, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
