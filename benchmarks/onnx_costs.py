"""Measures an ONNX export beside CTranslate2 and a Marian model of its size.

    npm install --prefix=MODULES @huggingface/transformers
    pip install '.[onnx]' optimum-onnx    # in an environment of its own
    python benchmarks/onnx_costs.py EXPORT/1 EXPORT_CTRANSLATE2/1 MODULES

transformers makes a Marian model of random weights with the config of the
export, and optimum writes it as ONNX. Each program writes 20 tokens for a
source of 20 greedily, 25 times in a process of its own: CTranslate2, ONNX
Runtime, and transformers.js under Node.js with the export and with Marian.

Memory is the growth of the process from the end of its imports to its peak.
Time is the processor's for one source, by one thread, because threads that wait
for others would seem to work: the median of the last 20.
All processes run by turns, in 3 rounds. The result is the medians of the
rounds, and those of the ratio of a round's time to CTranslate2's.
"""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import optimum.exporters.onnx
import transformers

NUM_TOKENS, NUM_TIMES, NUM_IGNORED, NUM_ROUNDS = 20, 25, 5, 3
TASK = "text2text-generation-with-past"
# What each of the programs calls a precision.
PRECISIONS = {
    "float32": ("float32", "", "fp32", "fp32"),
    "8 bits": ("int8", "_quantized", "q8", "q8"),
}
# The programs print megabytes, and seconds of each search.
IN_NODE = """
const [library, path, dtype, numbers, times] = process.argv.slice(1);
const {readFileSync} = await import("node:fs");
const {basename, dirname} = await import("node:path");
const {env, AutoModelForSeq2SeqLM, Tensor} = await import(library);
env.allowRemoteModels = false;
env.localModelPath = `${dirname(path)}/`;
const megabytes = (name) => Number(readFileSync("/proc/self/status", "utf8")
  .match(new RegExp(`${name}:[^0-9]*([0-9]+)`, "u"))[1]) / 1024;
const before = megabytes("VmRSS");
const makeTensor = (values) => new Tensor(
  "int64", BigInt64Array.from(values, BigInt), [1, values.length]);
const ids = JSON.parse(numbers);
const inputs = makeTensor(ids);
const attention_mask = makeTensor(ids.map(() => 1));
const model = await AutoModelForSeq2SeqLM.from_pretrained(
  basename(path), {dtype, session_options: {intraOpNumThreads: 1}});
const seconds = [];
for (let turn = 0; turn < times; turn += 1) {
  const begun = process.cpuUsage();
  const output = await model.generate({inputs, attention_mask,
    min_new_tokens: ids.length, max_new_tokens: ids.length});
  const {user, system} = process.cpuUsage(begun);
  seconds.push((user + system) / 1e6);
  if (output.dims[1] !== ids.length + 1) throw new Error(`${output.dims}`);
}
console.log(JSON.stringify([megabytes("VmHWM") - before, seconds]));
"""
IN_PYTHON = """
import json, pathlib, sys, time
def megabytes(name):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    (line,) = (one for one in lines if one.startswith(name))
    return int(line.split()[1]) / 1024
path, kind, ids, times = sys.argv[1:]
ids, times = json.loads(ids), int(times)
{imports}
before = megabytes("VmRSS")
{load}
seconds = []
for _ in range(times):
    begun = time.process_time()
    {search}
    seconds.append(time.process_time() - begun)
print(json.dumps([megabytes("VmHWM") - before, seconds]))
"""
ONNX_RUNTIME = IN_PYTHON.format(
    imports="""
import functools, numpy, onnxruntime, tokenizers
from keras_transformer.formats.onnx.session import OnnxSession
""",
    load="""
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
onnxruntime.InferenceSession = functools.partial(
    onnxruntime.InferenceSession, sess_options=options)
session = OnnxSession(path, kind)
""",
    search="""
    features, last = session.encode(ids[:-1]), 0
    for _ in ids:
        logits = session.decode_step(features, numpy.array([[last]]))
        last = int(logits.argmax())
""",
)
CTRANSLATE2 = IN_PYTHON.format(
    imports="import ctranslate2, sentencepiece",
    load="""
subwords = sentencepiece.SentencePieceProcessor(path + "/vocab.model")
pieces = [*map(subwords.id_to_piece, ids[:-1]), "</s>"]
translator = ctranslate2.Translator(path, compute_type=kind, intra_threads=1)
""",
    search="""
    (result,) = translator.translate_batch([pieces], beam_size=1,
        min_decoding_length=len(ids), max_decoding_length=len(ids))
    assert len(result.hypotheses[0]) == len(ids)
""",
)


def make_marian(export, folder):
    """Writes a Marian model of random weights by optimum; returns its path."""
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
    return folder / "marian"


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


def measure(command):
    """Returns the megabytes and the milliseconds that a program prints."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True
    )
    megabytes, seconds = json.loads(done.stdout)
    return megabytes, 1000 * statistics.median(seconds[NUM_IGNORED:])


def main(export, export_ctranslate2, modules):
    config = json.loads(pathlib.Path(export, "config.json").read_text())
    ids = [100 + 37 * i for i in range(NUM_TOKENS - 1)]
    searches = [json.dumps([*ids, config["eos_token_id"]]), str(NUM_TIMES)]
    dist = "node_modules/@huggingface/transformers/dist"
    library = pathlib.Path(modules, dist, "transformers.node.mjs").absolute()
    python = [sys.executable, "-c"]
    node = [shutil.which("node"), "--input-type=module", "--eval", IN_NODE]
    with tempfile.TemporaryDirectory() as folder:
        marian = make_marian(export, pathlib.Path(folder))
        programs = {
            "CTranslate2": [*python, CTRANSLATE2, export_ctranslate2],
            "ONNX Runtime": [*python, ONNX_RUNTIME, export],
            "transformers.js": [*node, library.as_uri(), export],
            "transformers.js, Marian": [*node, library.as_uri(), marian],
        }
        for precision, kinds in PRECISIONS.items():
            commands = [
                [*command, kind, *searches]
                for command, kind in zip(programs.values(), kinds)
            ]
            rounds = np.array(
                [list(map(measure, commands)) for _ in range(NUM_ROUNDS)]
            )  # (rounds, programs, 2)
            ratios = rounds[:, :, 1] / rounds[:, :1, 1]
            for name, (megabytes, time), ratio in zip(
                programs, np.median(rounds, axis=0), np.median(ratios, axis=0)
            ):
                print(
                    f"{name}, {precision}: {megabytes:.0f} MB, {time:.1f} ms "
                    f"of processor time, {ratio:.2f} times CTranslate2's",
                    flush=True,
                )


if __name__ == "__main__":
    main(*sys.argv[1:])
