"""Measures an ONNX export beside CTranslate2 and a Marian model of its size.

    npm install --prefix=MODULES @huggingface/transformers
    pip install optimum-onnx    # in an environment of its own
    python benchmarks/onnx_costs.py EXPORT/1 EXPORT_CTRANSLATE2/1 MODULES TEXTS

transformers makes a Marian model of random weights with the config of the
export, and optimum writes it as ONNX. In transformers.js under Node.js, both
models then write 20 tokens for a source of 20, in turn. The result is
milliseconds: the median of each, and the median of the ratios of neighbours
with its quartiles.

Memory is the growth of a process from the end of its imports to its peak, in
MB. Either one model writes these tokens in Node.js, or ONNX Runtime or
CTranslate2 translates the first 50 lines of TEXTS greedily in Python.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import optimum.exporters.onnx
import transformers

NUM_TOKENS, NUM_TIMES, NUM_TEXTS = 20, 41, 50
TASK = "text2text-generation-with-past"
MODELS = ("export", "marian")
MEASURE = """
const {readFileSync} = await import("node:fs");
const {env, AutoModelForSeq2SeqLM, Tensor} = await import(LIBRARY);
env.allowRemoteModels = false;
env.localModelPath = FOLDER;
const megabytes = (name) => Number(readFileSync("/proc/self/status", "utf8")
  .match(new RegExp(`${name}:[^0-9]*([0-9]+)`, "u"))[1]) / 1024;
const begun = megabytes("VmRSS");
const ids = BigInt64Array.from({length: NUM}, (_, i) => BigInt(
  i + 1 < NUM ? 100 + 37 * i : END));
const ones = new BigInt64Array(NUM).fill(1n);
const inputs = new Tensor("int64", ids, [1, NUM]);
const attention_mask = new Tensor("int64", ones, [1, NUM]);
const median = (values, q = 0.5) => values.toSorted((a, b) => a - b)[
  Math.floor(q * (values.length - 1))];
const models = [];
for (const name of NAMES) {
  models.push(await AutoModelForSeq2SeqLM.from_pretrained(name, {dtype: TYPE}));
}
const times = NAMES.map(() => []);
for (let turn = 0; turn < TIMES + 5; turn += 1) {
  for (const [number, model] of models.entries()) {
    const begun = performance.now();
    const output = await model.generate({inputs, attention_mask,
      min_new_tokens: NUM, max_new_tokens: NUM});
    const time = performance.now() - begun;
    if (output.dims[1] !== NUM + 1) throw new Error(`${output.dims}`);
    if (turn >= 5) times[number].push(time);
  }
}
const ratios = times[0].map((time, i) => time / times.at(-1)[i]);
console.log(TYPE, ...NAMES, NAMES.length === 1
  ? `${Math.round(megabytes("VmHWM") - begun)} MB`
  : JSON.stringify({milliseconds: times.map((each) => median(each)),
    ratio: [0.25, 0.5, 0.75].map((q) => median(ratios, q))}));
"""
# Prints the memory that a program takes between two of its lines.
IN_PYTHON = """
import pathlib, sys
def megabytes(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    (line,) = (one for one in lines if one.startswith(name))
    return int(line.split()[1]) / 1024
path, kind, *texts = sys.argv[1:]
{imports}
begun = megabytes("VmRSS")
{work}
print(f"{{megabytes('VmHWM') - begun:.0f}} MB")
"""
ONNX_RUNTIME = IN_PYTHON.format(
    imports="""
import onnxruntime, tokenizers
from keras_transformer.formats.onnx.session import OnnxSession
""",
    work="OnnxSession(path, kind).translate(texts, 50)",
)
CTRANSLATE2 = IN_PYTHON.format(
    imports="import ctranslate2, sentencepiece",
    work="""
subwords = sentencepiece.SentencePieceProcessor(path + "/vocab.model")
translator = ctranslate2.Translator(path, compute_type=kind)
for text in texts:
    pieces = [subwords.encode(text, out_type=str) + ["</s>"]]
    translator.translate_batch(pieces, beam_size=1)
""",
)


def make_marian(export, folder):
    """Writes a Marian model of random weights, by optimum."""
    config = transformers.MarianConfig.from_pretrained(export)
    source = folder / "source"
    transformers.MarianMTModel(config).save_pretrained(source)
    model = transformers.MarianMTModel.from_pretrained(source)
    optimum.exporters.onnx.onnx_export_from_model(
        model, folder / "marian", task=TASK
    )
    graphs = folder / "marian" / "onnx"
    graphs.mkdir()
    quantize_all(folder / "marian", graphs)
    for path in folder.glob("marian/*.onnx"):
        path.rename(graphs / path.name)


def quantize_all(source, target):
    """Writes graphs in 8 bits as transformers.js has them."""
    from onnxruntime.quantization import QuantType
    from onnxruntime.quantization import quantize_dynamic

    for path in source.glob("*.onnx"):
        quantize_dynamic(
            path,
            target / f"{path.stem}_quantized.onnx",
            weight_type=QuantType.QUInt8,
            per_channel=True,
            extra_options={"EnableSubgraph": True},
        )


def measure_in_node(values):
    """Runs MEASURE with values for its names in capitals."""
    script = "".join(
        f"const {name} = {json.dumps(value)};\n"
        for name, value in values.items()
    )
    command = [shutil.which("node"), "--input-type=module", "-"]
    subprocess.run(command, input=script + MEASURE, text=True, check=True)


def main(export, export_ctranslate2, modules, texts):
    export, modules = pathlib.Path(export), pathlib.Path(modules).absolute()
    texts = pathlib.Path(texts).read_text().splitlines()[:NUM_TEXTS]
    for name, script, path, kinds in (
        ("ONNX Runtime", ONNX_RUNTIME, export, ["", "_quantized"]),
        ("CTranslate2", CTRANSLATE2, export_ctranslate2, ["float32", "int8"]),
    ):
        for kind, precision in zip(kinds, ("float32", "8 bits")):
            print(f"{name}, {precision}:", end=" ", flush=True)
            command = [sys.executable, "-c", script, path, kind, *texts]
            subprocess.run(command, check=True)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "export").symlink_to(export.absolute())
        make_marian(export, folder)
        library = "node_modules/@huggingface/transformers/dist/"
        config = json.loads((export / "config.json").read_text())
        values = {
            "LIBRARY": (modules / library / "transformers.node.mjs").as_uri(),
            "FOLDER": f"{folder}/",
            "NUM": NUM_TOKENS,
            "TIMES": NUM_TIMES,
            "END": config["eos_token_id"],
        }
        for precision in ("fp32", "q8"):
            for names in (MODELS, MODELS[:1], MODELS[1:]):
                measure_in_node({**values, "TYPE": precision, "NAMES": names})


if __name__ == "__main__":
    main(*sys.argv[1:])
