"""How to load a model, in the words of its card."""

from keras_transformer.trees.target_text import linearization_of

RUN = """\
In Python, where `{name}` is this directory:

```python
from keras_transformer.decoding.translator import Translator

translator = Translator.load("{name}"{step})
translator(["A sentence to translate."])
```

On a command line, one sentence on each line:

```sh
kt-decoder --output_dir={name}{flag} < source.txt > translated.txt
```

Look at its attention with `kt-attention --output_dir={name}{flag}
--text="A sentence to translate." --html=attention.html`."""

PARSER = """\
In Python, where `{name}` is this directory:

```python
from keras_transformer.decoding.parser import Parser

parser = Parser.load("{name}"{step})
parser(["A sentence to parse."])  # its tree in brackets
```

On a command line, one sentence on each line; with `--tokenized`, words with
spaces between them as the treebank has them:

```sh
kt-decoder --output_dir={name}{flag} < sentences.txt > parsed.trees
```"""

SAVED_MODEL = """\
In Python, with `tensorflow` and `tensorflow-text` alone; `path/to/model` is the
directory that holds `saved_model.pb`:

```python
import tensorflow as tf
import tensorflow_text  # the ops that cut text into subwords

model = tf.saved_model.load("path/to/model")
translate = model.signatures["serving_default"]
found = translate(text=tf.constant(["A sentence to translate."]))
found["translations"][0, 0].numpy().decode()  # the best; found["scores"]
```

With `keras_transformer`, `Translator.load("path/to/model")` of
`keras_transformer.decoding.translator` is a function of a list of sentences.

With TensorFlow Serving, or `kt-serve` where that is not at hand; the path is
the directory that holds the versions:

```sh
tensorflow_model_server --port=8500 --rest_api_port=8501 \\
    --model_name={model_name} --model_base_path=/path/to/export
kt-query --server=localhost --model_name={model_name} < source.txt
```"""

SAVED_MODEL_IDS = """\
It takes and gives ids of the vocabulary in `assets.extra/vocab.model`, 0 for
padding and 1 at the end of each sentence. With `tensorflow` and `sentencepiece`
alone; `path/to/model` is the directory that holds `saved_model.pb`:

```python
import sentencepiece
import tensorflow as tf

vocabulary = sentencepiece.SentencePieceProcessor(
    "path/to/model/assets.extra/vocab.model"
)
ids = vocabulary.encode("A sentence to translate.") + [1]
translate = tf.saved_model.load("path/to/model").signatures["ids"]
found = translate(inputs=tf.constant([ids], tf.int32))
best = found["outputs"][0, 0].numpy().tolist()  # its score: found["scores"]
vocabulary.decode(best[: best.index(1)])
```"""

CTRANSLATE2 = """\
In Python, with `ctranslate2` installed; `path/to/model` is the
directory that holds `model.bin`:

```python
from keras_transformer.decoding.translator import Translator

translator = Translator.load("path/to/model")
translator(["A sentence to translate."])
```

With `ctranslate2` and `sentencepiece` alone:

```python
import ctranslate2
import sentencepiece

translator = ctranslate2.Translator("path/to/model")
vocabulary = sentencepiece.SentencePieceProcessor("path/to/model/vocab.model")
source = vocabulary.encode("A sentence to translate.", out_type=str)
(found,) = translator.translate_batch(
    [source + [vocabulary.id_to_piece(1)]],
    beam_size={beam_size},
)
vocabulary.decode(found.hypotheses[0])
```"""


EXPORTED_PARSER = """\
In Python, with `keras_transformer`; `path/to/model` is this directory:

```python
from keras_transformer.decoding.parser import Parser

parser = Parser.load("path/to/model")
parser(["A sentence to parse."])  # its tree in brackets
```

The model itself takes words with spaces between them, as the treebank has them,
and gives the tree in the {linearization} linearization of
`keras_transformer.trees.linearization`."""


def how_to_use(run, step, extra):
    """Returns Markdown that says how to load a model and to call it.

    Args:
        run: the `RunDirectory` it comes from.
        step: of its checkpoint.
        extra: dictionary as for `write_model_card`; may be empty.
    """
    format = extra.get("format")
    linearization = linearization_of(run.vocabulary)
    if format and linearization:
        return EXPORTED_PARSER.format(linearization=linearization)
    if format == "saved_model":
        model_name = extra.get("model_name", "translate")
        return SAVED_MODEL.format(model_name=model_name)
    if format == "saved_model_ids":
        return SAVED_MODEL_IDS
    if format == "ctranslate2":
        decode = extra.get("decode", {})
        beam_size = decode.get("beam_size", run.hparams.beam_size)
        return CTRANSLATE2.format(beam_size=beam_size)
    is_newest = step == run.checkpoints.find()
    text = PARSER if linearization else RUN
    return text.format(
        name="path/to/run",
        step="" if is_newest else f", step={step}",
        flag="" if is_newest else f" --checkpoint_step={step}",
    )
