"""A problem: where a task's text comes from, and its data as batches of ids."""

import functools
import inspect
import os
import typing
from collections.abc import Iterable
from collections.abc import Sequence

from keras_transformer.data.cleaning.rules import is_empty
from keras_transformer.data.generation import generation
from keras_transformer.data.generation.encoding import LocalEncoder
from keras_transformer.data.generation.encoding import encode_stream
from keras_transformer.data.generation.generated_data import GeneratedData
from keras_transformer.data.generation.token_links import read_links
from keras_transformer.data.text import text_files
from keras_transformer.data.vocabulary.vocabularies import read_path
from keras_transformer.errors import UserError
from keras_transformer.scoring import translations
from keras_transformer.scoring.report import Report
from keras_transformer.scoring.report import check_scores
from keras_transformer.scoring.symbol_scores import further_scores
from keras_transformer.scoring.symbol_scores import make_report

if typing.TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.hparam import HParams


class Problem(GeneratedData):
    """Provides the sentence pairs of a text-to-text task.

    To define a problem, write a subclass, set the class attributes, implement
    `text_pairs`, and register it with `register_problem`. `generate` turns the
    text into files once; everything else reads those files.

    Class attributes:
        name: Name of the problem, set by `register_problem`.
        vocab_size: Size of the joint vocabulary to train. It may be None if
            none is trained, because there is a `vocabulary_path` or because
            `bpe_symbols` returns the symbols. Defaults to 32000.
        shared_vocabulary: Whether source and target have one vocabulary. If
            not, each has a separate one. Defaults to True.
        source_vocab_size: Size of the source's vocabulary. Defaults to
            None, which means `vocab_size`.
        vocabulary_type: "subwords", "characters" or "words"; see
            `train_subwords`. Defaults to "subwords".
        source_vocabulary_type: The source's type. Defaults to None, the same.
        character_coverage: See `train_subwords`. Defaults to None.
        vocabulary_path: Path of a vocabulary file to use instead of training
            one, or of a directory with `vocab.model` for the target and
            `vocab.source.model` for the source. Defaults to None.
        vocabulary_temperature: Temperature of the shares of the corpora in the
            text that the vocabulary is trained on; see `sample_corpora`.
            Defaults to 1, in proportion to their sizes.
        user_symbols: Tuple of texts that are one id of the trained vocabulary
            wherever they occur. Defaults to none.
        normalize_text: Whether a trained vocabulary normalises the text; see
            `normalization.make_replacements`. Defaults to True.
        inputs_language: Language code of the sources. Defaults to "en".
        targets_language: Language code of the targets. Defaults to "de".
        is_tokenized: Whether the text has spaces between its tokens already, so
            that no score tokenises it again. Defaults to False.
        measure: Name of the score, among those that `score` returns, that
            decides which checkpoint is best. A run may record another one.
            Defaults to "bleu".
        hub_datasets: Tuple of the data's names on Hugging Face's hub, for the
            model card. Defaults to none.
        splits: Names of the splits that `text_pairs` provides, "train" first.
        encoder: Encoder of the training text, a `LocalEncoder` by default. A
            `DistributedEncoder` uses several machines.

    Args:
        data_dir: Directory that holds the data of all problems.
        reverse: Whether to swap source and target. Both directions share their
            data. Defaults to False.

    Example:

    >>> class Shout(Problem):
    ...     name = "shout"
    ...     vocab_size = 320
    ...     def text_pairs(self, split, tmp_dir):
    ...         yield "be quiet", "BE QUIET"
    >>> Shout(data_dir="data", reverse=True).name
    'shout_rev'
    """

    name: str = None  # type: ignore[assignment]
    vocab_size: int | None = 32000
    shared_vocabulary = True
    source_vocab_size: int | None = None
    vocabulary_type = "subwords"
    source_vocabulary_type: str | None = None
    character_coverage: float | None = None
    vocabulary_path: str | None = None
    vocabulary_temperature: float = 1
    user_symbols: tuple[str, ...] = ()
    normalize_text = True
    inputs_language = "en"
    targets_language = "de"
    is_tokenized = False
    measure = "bleu"
    hub_datasets: tuple[str, ...] = ()
    splits: tuple[str, ...] = ("train", "dev", "test")
    encoder = LocalEncoder()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        signature = inspect.signature(cls.text_pairs)
        try:
            signature.bind("self", "split", "tmp_dir")
        except TypeError as error:
            raise UserError(
                "`text_pairs` must take a split and a directory. Received: "
                f"{cls.__name__}.text_pairs{signature}. Define it as "
                "text_pairs(self, split, tmp_dir)."
            ) from error

    def __init__(
        self,
        data_dir: str | os.PathLike[str] | None = None,
        reverse: bool = False,
    ):
        super().__init__(self.name, data_dir, reverse)
        if reverse:
            languages = self.targets_language, self.inputs_language
            self.inputs_language, self.targets_language = languages

    @functools.cached_property
    def bleu_tokenizer(self) -> str:
        """Name of the tokenizer of sacreBLEU that suits the text."""
        if self.is_tokenized:
            return "none"
        language = self.targets_language if len(self.directions) == 1 else ""
        return translations.choose_tokenizer(language, self.dev_references())

    def use_both_directions(self) -> None:
        """Adds the swapped pairs to every split, and "_both" to the name.

        Use it for pre-training in both directions, before a warm start in one
        of them (Ding et al., 2021; Gao et al., 2022). The language of the
        source tells the directions apart, not a tag. Scores cover both
        directions together.
        """
        self.name = f"{self.data_name}_both"
        self.directions = (("source", "target"), ("target", "source"))

    def text_pairs(self, split: str, tmp_dir: str) -> Iterable[tuple[str, str]]:
        """Yields the `(source, target)` texts of a split, never reversed.

        It is called more than once and must yield the same pairs each time.

        Args:
            split: Name of the split, one of `splits`.
            tmp_dir: Directory that holds the raw text or takes downloads.

        Raises:
            UserError: If the class of the problem does not define it.
        """
        raise UserError(
            f"Problem {self.data_name} does not define `text_pairs`. Add the "
            "method text_pairs(self, split, tmp_dir), which yields pairs of "
            "str."
        )

    def text_corpora(
        self, split: str, tmp_dir: str
    ) -> Sequence[Iterable[tuple[str, str]]]:
        """Returns an iterable of pairs for each corpus of a split.

        They are read in order and together make up `text_pairs`. The default is
        a single corpus.
        """
        return [self.text_pairs(split, tmp_dir)]

    def describe_corpora(self, split: str) -> list[dict]:
        """Returns what the manifest says about `text_corpora`, as dicts.

        Each dictionary has a `name`, the `sha256` of each file, and a `weight`,
        the number of times that an epoch goes through the corpus. The default
        is an empty list, for a single unnamed corpus.
        """
        return []

    def target_text(self, target: str) -> str:
        """Returns the text that the model learns to write for a target.

        The default is the target itself. Override it where the targets are not
        text, such as trees, to turn them into a sequence of words.
        """
        return target

    def is_complete(self, source: str, target: str) -> bool:
        """Returns whether a pair has text on both sides.

        Other pairs are left out of the data.
        """
        return not (is_empty(source) or is_empty(target))

    def symbols(self, tmp_dir: str) -> Iterable[str]:
        """Returns the words of `target_text` that get one id each."""
        return ()

    def training_alignments(self, tmp_dir: str) -> Iterable | None:
        """Returns the word alignments of the training pairs; None if unknown.

        See `token_links.write_links` for what they are.
        """
        return None

    def make_guidance(self, hparams: "HParams") -> typing.Any:
        """Returns guidance for training besides the targets, or None.

        It has a method `read(token_pairs, rows, shape)`; see
        `token_links.TokenLinks`. Raises a `UserError` if the data lack it.
        """
        if hparams.span_labels:
            raise UserError(
                "`span_labels` must be 0 for a problem without trees. "
                f"Received: span_labels={hparams.span_labels}, problem="
                f"{self.name}. Add --hparams=span_labels=0."
            )
        return read_links(self) if hparams.guided_alignment else None

    def bpe_symbols(self, tmp_dir: str) -> Sequence[str]:
        """Returns all symbols of a text that has a byte-pair encoding already.

        They become the vocabulary; see `bpe_symbols.write_symbols`. The default
        is an empty list, for text that a vocabulary is trained on.
        """
        return []

    def output(self, source: str, decoded: str) -> str:
        """Converts the text that the model wrote into the user's output.

        This is the inverse of `target_text`: the output has the form of the
        targets. The default is the model's text itself.
        """
        return decoded

    def source_files(self, tmp_dir: str) -> Sequence[str]:
        """Returns the paths of the files that the text comes from.

        If one of them has changed, `generate` starts over. The default is an
        empty list, for text that never changes.
        """
        return []

    def fingerprints(self, tmp_dir: str) -> list[dict[str, str]]:
        """Returns the name and the SHA-256 of everything the text comes from.

        The default is a list of dictionaries, one for each of `source_files`.
        """
        return text_files.fingerprints(self.source_files(tmp_dir))

    def settings(self) -> dict[str, typing.Any]:
        """Returns further settings that the data depend on, as a JSON dict."""
        return {}

    def num_left_out(self, split: str) -> dict[str, int]:
        """Returns the number of texts left out of a split for each reason.

        The default is an empty dictionary. kt-datagen shows each reason after
        its number, as in "3 without a verb".
        """
        return {}

    def generate(self, tmp_dir: str) -> dict:
        """Writes the vocabulary, the token arrays and `manifest.json`.

        Does nothing if they exist and nothing has changed.

        Returns:
            The manifest, a dictionary with the counts of pairs and tokens.
        """
        return generation.generate(self, tmp_dir)

    def streaming_dataset(
        self,
        split: str,
        tmp_dir: str,
        batch_tokens: int = 4096,
        max_length: int = 256,
        seed: int = 0,
        shuffle_buffer: int = 100_000,
        num_replicas: int = 1,
    ) -> "tf.data.Dataset":
        """Returns batches of text that is read and encoded during training.

        Choose it for text that is too large to generate data from; `dataset`
        is faster and resumes exactly. The text comes from `text_corpora`, of
        which up to 16 are read in turn; their weights have no effect. It needs
        a vocabulary: the file `vocabulary_path`, or else the generated data's.

        "train" is shuffled and has no end, so `model.fit` needs
        `steps_per_epoch`. Any other split comes once, in order. Under a
        `MirroredStrategy`, pass its `num_replicas_in_sync` as `num_replicas`.

        Args:
            split: Name of the split, one of `splits`.
            tmp_dir: Directory that holds the raw text.
            batch_tokens: Maximum number of positions per side of a batch.
                Defaults to 4096.
            max_length: Length of the longest sentence to keep, in tokens, at
                most `batch_tokens / num_replicas`. Defaults to 256.
            seed: Integer seed of the order. Defaults to 0.
            shuffle_buffer: Number of pairs in memory among which the next one
                is drawn. Defaults to 100,000.
            num_replicas: The number of rows of each batch is a multiple of
                this; empty rows fill up the last batches. Defaults to 1.

        Returns:
            A `tf.data.Dataset` of `({"inputs": inputs, "targets": targets},
            targets)`, with int32 ids of shapes `(batch, input_len)` and
            `(batch, target_len)`.

        Raises:
            UserError: If a sentence of `max_length` does not fit into the
                share of a replica.
        """
        if max_length * num_replicas > batch_tokens:
            raise UserError(
                "`max_length` must be at most `batch_tokens` divided by "
                f"`num_replicas`. Received: max_length={max_length}, "
                f"batch_tokens={batch_tokens}, num_replicas={num_replicas}. "
                "Raise batch_tokens."
            )
        # Imported here because it needs TensorFlow, unlike the rest.
        from keras_transformer.data.batches import dataset

        path = self.vocabulary_path
        vocabularies = read_path(path) if path else self.vocabularies

        def read_corpus(number):
            corpus = self.text_corpora(split, tmp_dir)[number]
            return encode_stream(self, corpus, vocabularies, max_length)

        return dataset.make_streaming_dataset(
            read_corpus,
            len(self.text_corpora(split, tmp_dir)),
            batch_tokens,
            seed if split == "train" else None,
            shuffle_buffer,
            num_replicas,
        )

    def report(self, hypotheses: list[str], references: list[str]) -> Report:
        """Scores outputs against the references.

        Args:
            hypotheses: List of strings, as `output` returns them.
            references: List of strings, as `text_split` returns them.

        Returns:
            An object with three attributes: `scores`, a dictionary of metric
            names to floats; `text`, a report of a few lines to print; and
            `lines`, a list of strings to keep in the run's directory.
        """
        texts = hypotheses, references
        return make_report(self.measure, *texts, self.bleu_tokenizer)

    def score(
        self, hypotheses: list[str], references: list[str]
    ) -> dict[str, float]:
        """Returns the `scores` of `report`."""
        return self.report(hypotheses, references).scores

    def dev_scores(
        self, hypotheses: list[str], references: list[str], measure: str
    ) -> dict[str, float]:
        """Returns the scores that are logged during training, by name.

        They are the scores of `score`, which must be finite, and the `measure`
        that decides which checkpoint is best, even if it is TER, which is slow.
        """
        scores = check_scores(self.score(hypotheses, references), self.name)
        further = self._further_scores(hypotheses, references, measure)
        return scores | {score.name: score.value for score in further}

    def dev_signatures(self, measure: str) -> list[str]:
        """Lists sacreBLEU's signatures of `dev_scores`.

        Two scores are comparable only under the same signature. The list is
        empty if the scores are not sacreBLEU's.
        """
        if self.measure != Problem.measure:
            return []
        # A signature does not depend on the text.
        text = ["a"]
        further = self._further_scores(text, text, measure)
        lines = [*self.report(text, text).lines, *(s.line for s in further)]
        return [line.partition(" = ")[0] for line in lines]

    def _further_scores(self, hypotheses, references, measure):
        if self.measure != Problem.measure:
            return []
        texts = hypotheses, references
        return further_scores(measure, *texts, self.bleu_tokenizer)
