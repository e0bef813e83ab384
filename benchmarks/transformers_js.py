"""Compares an ONNX export in transformers.js with its run.

    npm install --prefix=MODULES @huggingface/transformers
    python benchmarks/transformers_js.py RUN EXPORT/1 MODULES [NUMBER]

The first 200 or NUMBER sources of the test split are translated greedily by the
run and by transformers.js, under Node.js and in Chromium, in float32.
transformers.js takes num_beams but has no beam search: with 4 beams it gives
what it gives greedily, and a line tells whether it still does.
"""

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from playwright.sync_api import sync_playwright

from keras_transformer.decoding.certificate import GREEDY
from keras_transformer.decoding.certificate import compare
from keras_transformer.decoding.certificate import translate_ids
from keras_transformer.decoding.loading import load
from keras_transformer.runs.data_record import find_problem
from keras_transformer.runs.run_directory import RunDirectory

DIST = "modules/@huggingface/transformers/dist"
TRANSLATE = """async ([root, library, num_beams, texts]) => {
  const {env, pipeline} = await import(root + library);
  env.allowRemoteModels = false;
  env.useBrowserCache = false;
  env.allowLocalModels = true;
  env.localModelPath = new URL(root).pathname + "models/";
  if (root.startsWith("http"))
    env.backends.onnx.wasm.wasmPaths = root + "modules/onnxruntime-web/dist/";
  const translate = await pipeline("translation", "run", {dtype: "fp32"});
  const translations = [];
  for (const text of texts) {
    const [best] = await translate(text, {max_new_tokens: 200, num_beams});
    translations.push(best.translation_text);
  }
  return translations;
}"""


def translate_in_node(folder, texts, num_beams=1):
    arguments = [
        f"{folder.as_uri()}/",
        f"{DIST}/transformers.node.mjs",
        num_beams,
        texts,
    ]
    script = f"({TRANSLATE})({json.dumps(arguments)}).then((translations) => "
    script += "console.log(JSON.stringify(translations)));"
    done = subprocess.run(
        [shutil.which("node"), "--input-type=module", "-"],
        input=script,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(done.stdout), None


def translate_in_chromium(folder, texts):
    handler = functools.partial(QuietHandler, directory=folder)
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server,
        sync_playwright() as driver,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        root = f"http://127.0.0.1:{server.server_port}/"
        page.goto(f"{root}models/run/config.json")
        library = f"{DIST}/transformers.min.js"
        translations = page.evaluate(TRANSLATE, [root, library, 1, texts])
        browser.close()
        server.shutdown()
    return translations, None


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    """Serves files and writes no log."""

    def log_message(self, *_):
        pass


def main(run_path, export_path, modules, number="200"):
    texts = find_problem(RunDirectory(run_path)).text_split("test")[0]
    texts = texts[: int(number)]
    ours = functools.partial(translate_ids, load(run_path), **GREEDY)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "models").mkdir()
        (folder / "models" / "run").symlink_to(pathlib.Path(export_path))
        (folder / "modules").symlink_to(pathlib.Path(modules, "node_modules"))
        node = functools.partial(translate_in_node, folder)
        chromium = functools.partial(translate_in_chromium, folder)
        print(f"Node.js: {compare(ours, node, texts)}")
        print(f"Chromium: {compare(ours, chromium, texts)}")
        beam = functools.partial(node, num_beams=4)
        print(f"1 beam and 4 in Node.js: {compare(node, beam, texts)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
