"""Translates with a page by Node.js, which has what a browser's worker has."""

import json
import re
import shutil
import subprocess

from keras_transformer.errors import UserError

_PART = r'<script type="text/plain" id="{}">(.*?)</script>'
_RUN = """
const [model, texts] = {input};
METHODS.open(model).then(() => console.log(JSON.stringify(texts.map(
  (text) => METHODS.translate(text, translator.options.beam_size).text))));
"""


def find_node():
    """Returns the path of Node.js if it can unpack the model, or None."""
    node = shutil.which("node")
    probe = [node, "-e", "new DecompressionStream('deflate-raw')"]
    if node and not subprocess.run(probe, capture_output=True).returncode:
        return node
    return None


def translate(path, texts):
    """Returns the translations of a page in a file, and None for scores."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    worker, model = (
        re.search(_PART.format(name), page, re.DOTALL)[1]
        for name in ("worker", "model")
    )
    script = worker + _RUN.replace("{input}", json.dumps([model, texts]))
    done = subprocess.run(
        [find_node(), "-"],
        input=script,
        capture_output=True,
        encoding="utf-8",  # whatever the locale is
    )
    if done.returncode:
        raise UserError(
            f"The page {path} fails in Node.js: {done.stderr[-300:]}. Export "
            "the run again."
        )
    return json.loads(done.stdout), None
