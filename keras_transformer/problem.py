"""A task: where its text comes from, and its data as batches of ids."""

import itertools
import os

from keras_transformer.data import batch_plan
from keras_transformer.data import generation
from keras_transformer.data import packing
from keras_transformer.data import subwords
from keras_transformer.data import text_files
from keras_transformer.data import token_arrays

EVALUATION_TOKENS = 4096  # most positions of a batch that is only measured


class Problem:
    """Supply the sentence pairs of a text to text task.

    Subclass it, set the class attributes, write `text_pairs`, and register
    it with `register_problem`: that is all a new problem takes. `generate`
    turns the text into files once; everything else reads those files.

    Class attributes:
        name: set by `register_problem`.
        vocab_size: size of the joint vocabulary to train.
        vocabulary_path: a vocabulary file that is given; then none is
            trained.
        inputs_language, targets_language: language codes.
        measure: the score that tells which checkpoint is best; one of those
            that `score` returns.
        splits: what `text_pairs` knows; "train" first.

    Args:
        data_dir: directory that holds the data of all problems.
        reverse: whether to swap source and target. Both directions share
            their data.

    Example:

    >>> class Shout(Problem):
    ...     name = "shout"
    ...     vocab_size = 320
    ...     def text_pairs(self, split, tmp_dir):
    ...         yield "be quiet", "BE QUIET"
    >>> Shout(data_dir="data", reverse=True).name
    'shout_rev'
    """

    name = None
    vocab_size = 32000
    vocabulary_path = None
    inputs_language = "en"
    targets_language = "de"
    measure = "bleu"
    splits = ("train", "dev", "test")

    def __init__(self, data_dir=None, reverse=False):
        self.data_dir = data_dir
        self.reverse = reverse
        self.data_name = self.name
        self._vocabulary = None
        if reverse:
            self.name += "_rev"
            self.inputs_language, self.targets_language = (
                self.targets_language,
                self.inputs_language,
            )

    def text_pairs(self, split, tmp_dir):
        """Yield the `(source, target)` texts of a split, never reversed.

        Called more than once, it must yield the same pairs.

        Args:
            split: one of `splits`.
            tmp_dir: directory with the raw text, or for downloads.
        """
        raise NotImplementedError

    def target_text(self, target):
        """Return what the model learns to write for a target: its subwords.

        By default the target itself. A problem whose targets are no text, such
        as trees, says here how they become a sequence.
        """
        return target

    def symbols(self, tmp_dir):
        """Return the words of `target_text` that get one id each."""
        return ()

    def output(self, source, decoded):
        """Return what a user gets for a source, given what the model wrote.

        The inverse of `target_text`: in the form of the targets.
        """
        return decoded

    def source_files(self, tmp_dir):
        """Return the paths of the files that the text comes from.

        If one of them has changed, `generate` starts over. Leave it empty
        where the text is always the same.
        """
        return []

    def fingerprints(self, tmp_dir):
        """Return name and SHA-256 of what the text comes from, for `generate`.

        By default those of `source_files`, a list of dicts.
        """
        return text_files.fingerprints(self.source_files(tmp_dir))

    def settings(self):
        """Return what else the data depends on, a dict that JSON can hold."""
        return {}

    def num_left_out(self, split):
        """Return how many texts `text_pairs` left out, a dict of reasons."""
        return {}

    def generate(self, tmp_dir):
        """Write vocabulary, token arrays and `manifest.json`, if not there.

        Returns:
            The manifest, a dict with the counts of pairs and tokens.
        """
        return generation.generate(self, tmp_dir)

    @property
    def directory(self):
        """Directory of this problem's data."""
        if self.data_dir is None:
            raise ValueError(
                "A problem must know where its data is. Received: "
                f"data_dir=None for problem {self.name}. Pass data_dir."
            )
        return os.path.join(self.data_dir, self.data_name)

    @property
    def manifest(self):
        """What `generate` wrote: counts, token counts, checksums."""
        manifest = generation.read_manifest(self.directory)
        if manifest is None:
            raise ValueError(
                "The data of a problem must be generated before it is used. "
                f"Received: problem={self.name}, no "
                f"{generation.MANIFEST_FILE} in {self.directory}. Run "
                f"kt-datagen --problem={self.data_name} "
                f"--data_dir={self.data_dir}."
            )
        return manifest

    @property
    def vocabulary(self):
        """The joint vocabulary of both languages, a `Subwords`."""
        if self._vocabulary is None:
            self._check_generated()
            self._vocabulary = subwords.Subwords(
                os.path.join(self.directory, generation.VOCABULARY_FILE)
            )
        return self._vocabulary

    def token_pairs(self, split):
        """Return a split's `TokenPairs`: the ids of inputs and targets."""
        self._check_generated(split)
        return token_arrays.TokenPairs(
            *(
                token_arrays.TokenArray(
                    generation.ids_path(self.directory, split, side)
                )
                for side in self._sides()
            )
        )

    def text_split(self, split):
        """Return the raw text of a split other than "train".

        Returns:
            `(sources, references)`, two lists of str of equal length.
        """
        self._check_generated(split)
        return tuple(
            _read_lines(generation.text_path(self.directory, split, side))
            for side in self._sides()
        )

    def batches(
        self,
        split,
        batch_tokens,
        max_length=None,
        seed=0,
        epoch=0,
        shuffle=None,
        packed=False,
    ):
        """Plan the batches of one epoch; see `plan_batches`, `plan_packed`.

        Args:
            split: one of `splits`.
            batch_tokens: most source, and most target, positions of a batch.
            max_length: longest sentence to keep, in tokens.
            seed: chooses the order, together with `epoch`.
            epoch: number of the epoch.
            shuffle: whether to shuffle; by default only "train".
            packed: whether several pairs share a row.

        Returns:
            A `BatchPlan` for `token_pairs(split)`.
        """
        pairs = self.token_pairs(split)
        make_plan = packing.plan_packed if packed else batch_plan.plan_batches
        plan = make_plan(
            pairs.inputs.lengths,
            pairs.targets.lengths,
            batch_tokens,
            max_length=max_length,
            seed=seed,
            epoch=epoch,
            shuffle=split == "train" if shuffle is None else shuffle,
        )
        if not len(plan):
            raise ValueError(
                "`max_length` must leave a sentence pair. Received: "
                f"max_length={max_length}, problem={self.name}, split={split}, "
                f"{plan.num_dropped} pairs, all longer. Raise max_length."
            )
        return plan

    def evaluation_batches(self, batch_tokens):
        """Plan the batches that dev is measured in; see `plan_batches`.

        Not larger than they must be: measuring keeps the logits of a batch.
        """
        most = min(batch_tokens, EVALUATION_TOKENS)
        return self.batches("dev", most, shuffle=False)

    def dataset(
        self, split, batch_tokens=4096, max_length=None, seed=0, packed=False
    ):
        """Return a split's padded batches as a `tf.data.Dataset`.

        Each new iteration over it is the next epoch, in another order. The
        arguments are those of `batches`.

        Returns:
            A dataset of known cardinality of `({"inputs": inputs, "targets":
            targets}, targets)`, int32 ids of shapes `(batch, input_len)` and
            `(batch, target_len)`, as `model.fit` takes them.
        """
        import tensorflow as tf

        pairs = self.token_pairs(split)
        epochs = itertools.count()

        def plan(epoch):
            return self.batches(
                split, batch_tokens, max_length, seed, epoch, packed=packed
            )

        def padded():
            yield from batch_plan.padded_batches(pairs, plan(next(epochs)))

        ids = tf.TensorSpec((None, None), tf.int32)
        return (
            tf.data.Dataset.from_generator(padded, output_signature=(ids, ids))
            .apply(tf.data.experimental.assert_cardinality(len(plan(0))))
            .map(_model_arguments)
            .prefetch(tf.data.AUTOTUNE)
        )

    def report(self, hypotheses, references):
        """Score outputs against the references.

        Args:
            hypotheses: list of str, as `output` returns them.
            references: list of str, as `text_split` returns them.

        Returns:
            An object with `scores`, a dict of metric name to float, and
            `text`, some lines for people.
        """
        from keras_transformer import bleu

        return bleu.bleu_report(hypotheses, references)

    def score(self, hypotheses, references):
        """Return the `scores` of `report`, which see."""
        return self.report(hypotheses, references).scores

    def _sides(self):
        return ("target", "source") if self.reverse else ("source", "target")

    def _check_generated(self, split="train"):
        splits = self.manifest["splits"]
        if split not in splits:
            raise ValueError(
                "`split` must be one that was generated. Received: "
                f"split={split}, problem={self.name}. Use one of: "
                f"{', '.join(splits)}."
            )


def _model_arguments(inputs, targets):
    return {"inputs": inputs, "targets": targets}, targets


def _read_lines(path):
    # Not `splitlines`, which also splits at rarer characters than "\n".
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]
