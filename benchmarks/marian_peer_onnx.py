"""Times an ONNX export beside a Marian model of its size, in transformers.js.

    npm install --prefix=MODULES @huggingface/transformers
    pip install optimum-onnx    # in an environment of its own
    python benchmarks/marian_peer_onnx.py EXPORT/1 MODULES

transformers makes a Marian model of random weights with the config of the
export, and optimum writes it as ONNX. Under Node.js both models then write 20
tokens for a source of 20, in turn. The result is milliseconds: the median of
each, and the median of the ratios of neighbours with its quartiles.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import optimum.exporters.onnx
import transformers

NUM_TOKENS, NUM_TIMES = 20, 41
TASK = "text2text-generation-with-past"
MEASURE = """
const {env, AutoModelForSeq2SeqLM, Tensor} = await import(LIBRARY);
env.allowRemoteModels = false;
env.localModelPath = FOLDER;
const ids = BigInt64Array.from({length: NUM}, (_, i) => BigInt(
  i + 1 < NUM ? 100 + 37 * i : END));
const ones = new BigInt64Array(NUM).fill(1n);
const inputs = new Tensor("int64", ids, [1, NUM]);
const attention_mask = new Tensor("int64", ones, [1, NUM]);
const median = (values, q = 0.5) => values.toSorted((a, b) => a - b)[
  Math.floor(q * (values.length - 1))];
for (const dtype of ["fp32", "q8"]) {
  const models = [];
  for (const name of ["export", "marian"]) {
    models.push(await AutoModelForSeq2SeqLM.from_pretrained(name, {dtype}));
  }
  const times = [[], []];
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
  const ratios = times[0].map((time, i) => time / times[1][i]);
  console.log(dtype, JSON.stringify({export: median(times[0]),
    marian: median(times[1]), ratio: [0.25, 0.5, 0.75].map(
      (q) => median(ratios, q))}));
}
"""


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


def main(export, modules):
    export, modules = pathlib.Path(export), pathlib.Path(modules).absolute()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "export").symlink_to(export.absolute())
        make_marian(export, folder)
        library = "node_modules/@huggingface/transformers/dist/"
        values = {
            "LIBRARY": (modules / library / "transformers.node.mjs").as_uri(),
            "FOLDER": f"{folder}/",
            "NUM": NUM_TOKENS,
            "TIMES": NUM_TIMES,
            "END": json.loads((export / "config.json").read_text())[
                "eos_token_id"
            ],
        }
        script = "".join(
            f"const {name} = {json.dumps(value)};\n"
            for name, value in values.items()
        )
        command = [shutil.which("node"), "--input-type=module", "-"]
        subprocess.run(command, input=script + MEASURE, text=True, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
