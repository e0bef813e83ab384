"""The section of a model card that says how to load the model."""

from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.trees.target_text import find_linearization

INSTALL = """\
Install `keras_transformer` from a checkout of the project with `pip install .`,
and replace `path/to/{place}` with the directory of this file{ending}:

```python
from keras_transformer import load

{verb} = load("path/to/{place}"{step})
{verb}(["A sentence to {verb}."])  # a list of {results}
```
"""

RUN = """
On the command line, with one sentence per line:

```sh
kt-decoder --output_dir=path/to/run{flag} < source.txt > translated.txt
```

The following command shows the attention of the model on an HTML page:

```sh
kt-attention --output_dir=path/to/run{flag} \\
    --text="A sentence to translate." --html=attention.html
```"""

PARSER = """
On the command line, with one sentence per line:

```sh
kt-decoder --output_dir=path/to/run{flag} < sentences.txt > parsed.trees
```

The flag `--tokenized` accepts sentences whose words are already separated by
spaces as in the treebank."""

SAVED_MODEL = """\
The model needs only the packages `tensorflow` and `tensorflow-text`.
Replace `path/to/model` with the directory that holds `saved_model.pb`:

```python
import tensorflow as tf
import tensorflow_text  # the operations that split text into subwords

model = tf.saved_model.load("path/to/model")
translate = model.signatures["serving_default"]
outputs = translate(text=tf.constant(["A sentence to translate."]))
outputs["translations"][0, 0].numpy().decode()  # the best translation
outputs["scores"][0, 0].numpy()  # its score
```

If `keras_transformer` is installed, `keras_transformer.load("path/to/model")`
returns a translator, which takes a list of sentences.

TensorFlow Serving serves the directory that holds the versions of the model.
`kt-serve` does the same where TensorFlow Serving is not available. `kt-query`
sends sentences to either of them:

```sh
tensorflow_model_server --port=8500 --rest_api_port=8501 \\
    --model_name=translate --model_base_path=/path/to/export
kt-query --server=localhost --model_name=translate < source.txt
```"""

SAVED_MODEL_IDS = """\
The model takes ids of the vocabulary in `assets.extra/{source_file}` and
returns ids of that in `assets.extra/vocab.model`. The id 0 is padding, and 1
ends each sentence. The model needs only the packages `tensorflow` and
`sentencepiece`. Replace `path/to/model` with the directory that holds
`saved_model.pb`:

```python
import sentencepiece
import tensorflow as tf

sources, targets = (
    sentencepiece.SentencePieceProcessor(f"path/to/model/assets.extra/{{name}}")
    for name in ("{source_file}", "vocab.model")
)
ids = sources.encode("A sentence to translate.") + [1]
translate = tf.saved_model.load("path/to/model").signatures["ids"]
outputs = translate(inputs=tf.constant([ids], tf.int32))
best = outputs["outputs"][0, 0].numpy().tolist()
targets.decode(best[: best.index(1)])  # the best translation
outputs["scores"][0, 0].numpy()  # its score
```"""

CTRANSLATE2 = """\
Install `keras_transformer` from a checkout of the project with
`pip install '.[ctranslate2]'`, and replace `path/to/model` with the directory
that holds `model.bin`:

```python
from keras_transformer import load

translate = load("path/to/model")
translate(["A sentence to translate."])  # a list of translations
```

`kt-serve` serves the directory that holds the versions of the model, and
`kt-query` sends sentences to it:

```sh
kt-serve --export_dir=path/to/export --model_name=translate
kt-query --model_name=translate < source.txt
```

The model can also be used with the packages `ctranslate2` and `sentencepiece`
alone:

```python
import ctranslate2
import sentencepiece

translator = ctranslate2.Translator("path/to/model")
sources, targets = (
    sentencepiece.SentencePieceProcessor(f"path/to/model/{{name}}")
    for name in ("{source_file}", "vocab.model")
)
source = sources.encode("A sentence to translate.", out_type=str)
(result,) = translator.translate_batch(
    [source], beam_size={beam_size}{use_vmap}
)
targets.decode(result.hypotheses[0])
```"""

EXPORTED_PARSER = """
The model itself takes words that are separated by spaces as in the treebank. It
returns the {linearization} linearization of the tree, which the module
`keras_transformer.trees.linearization` reads."""


EXPORTS = {
    "saved_model": SAVED_MODEL,
    "saved_model_ids": SAVED_MODEL_IDS,
    "ctranslate2": CTRANSLATE2,
}


def explain_use(run, step, export, beam_size):
    """Returns Markdown that says how to load a model and how to call it."""
    format = export.get("format")
    linearization = find_linearization(run.vocabulary)
    source_file = VOCABULARY_FILE
    if not run.vocabularies.is_shared:
        source_file = SOURCE_VOCABULARY_FILE
    if format and not linearization:
        return EXPORTS[format].format(
            source_file=source_file,
            beam_size=beam_size,
            use_vmap=", use_vmap=True" if export.get("shortlist") else "",
        )
    # Loading takes the newest checkpoint, so only another step is named.
    names_step = not format and step != run.checkpoints.find()
    install = INSTALL.format(
        place="model" if format else "run",
        ending="" if format else ". In Python",
        verb="parse" if linearization else "translate",
        results="trees in brackets" if linearization else "translations",
        step=f", step={step}" if names_step else "",
    )
    text = PARSER if linearization else RUN
    return install + (EXPORTED_PARSER if format else text).format(
        linearization=linearization,
        flag=f" --checkpoint_step={step}" if names_step else "",
    )
