"""The data of a problem, as read by training, evaluation and decoding."""

import functools
import os
import typing
from collections.abc import Iterator

import numpy as np

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing
from keras_transformer.data.batches import update_batches
from keras_transformer.data.generation import corpora
from keras_transformer.data.generation import generation
from keras_transformer.data.generation import token_arrays
from keras_transformer.data.vocabulary import vocabularies
from keras_transformer.errors import UserError
from keras_transformer.files.reading import file_error

if typing.TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.hparam import HParams

# Most positions of a batch in evaluation, since memory holds all its logits.
EVALUATION_TOKENS = 4096


class GeneratedData(vocabularies.HasVocabularies):
    """Reads the files that `generate` wrote, in either direction.

    With `reverse`, source and target are swapped, and "_rev" is added to the
    name. Both directions read the same files.

    Attributes:
        directions: Tuple of pairs of a side of inputs and a side of targets,
            each "source" or "target". Every split holds the pairs of all of
            them, one direction after the other.
    """

    def __init__(
        self,
        name: str,
        data_dir: str | os.PathLike[str] | None = None,
        reverse: bool = False,
    ):
        self.data_dir = data_dir
        self.data_name = name
        self.name = name + "_rev" if reverse else name
        self.reverse = reverse
        sides = token_arrays.SIDES[::-1] if reverse else token_arrays.SIDES
        self.directions: tuple[tuple[str, str], ...] = (sides,)
        # The counts of each split whose ids were checked.
        self._checked: dict[str, dict] = {}

    def forget_data(self) -> None:
        """Forgets what was read of earlier data when others take their place.

        That is the value of every `functools.cached_property`.
        """
        self._checked.clear()
        for cls in type(self).__mro__:
            for name, value in vars(cls).items():
                if isinstance(value, functools.cached_property):
                    vars(self).pop(name, None)

    @property
    def directory(self) -> str:
        """Directory that holds the data of this problem."""
        if self.data_dir is None:
            raise UserError(
                f"`data_dir` of problem {self.name} is not set. Pass data_dir."
            )
        return os.path.join(self.data_dir, self.data_name)

    @property
    def manifest(self) -> dict:
        """The manifest that `generate` wrote: counts and checksums."""
        manifest = generation.read_manifest(self.directory)
        if manifest is None:
            way_out = (
                f"Run kt-datagen --problem={self.data_name} "
                f"--data_dir={self.data_dir}."
            )
            place = os.path.dirname(os.path.abspath(self.directory))
            around, name = os.path.split(place)
            if name == self.data_name and generation.read_manifest(place):
                way_out = f"Name the directory around it, --data_dir={around}."
            raise UserError(
                f"No data of problem {self.name}: {self.directory} has no "
                f"{generation.MANIFEST_FILE}. {way_out}"
            )
        if "source_vocab_sha256" in manifest:
            vocabularies.check_one_direction(self)
        return manifest

    @functools.cached_property
    def vocabularies(self) -> vocabularies.Vocabularies:
        """The `Vocabularies` of targets and sources."""
        manifest = self.manifest
        forward = vocabularies.read(
            self.directory,
            manifest["vocab_sha256"],
            manifest.get("source_vocab_sha256"),
        )
        names = "vocab_size", "source_vocab_size"
        for name, size in zip(names, forward.sizes):
            if manifest.get(name, size) != size:
                fault = f"where {name} must be {size} but is {manifest[name]}"
                raise self._manifest_error(fault)
        # The files have the names of the forward direction.
        if self.reverse:
            return vocabularies.Vocabularies(*reversed(forward))
        return forward

    def _manifest_error(self, fault):
        path = os.path.join(self.directory, generation.MANIFEST_FILE)
        return file_error(path, fault, token_arrays.REMEDY)

    def token_pairs(self, split: str) -> token_arrays.TokenPairs:
        """Returns the ids of inputs and targets of a split, a `TokenPairs`."""
        counts, manifest = self._counts(split), self.manifest
        targets = manifest["vocab_sha256"]
        sources = manifest.get("source_vocab_sha256", targets)
        # Another process may have generated other data.
        if {targets, sources} != {v.sha256 for v in self.vocabularies}:
            self.forget_data()
        tokens = token_arrays.read_ids(self.directory, split)
        # Checking reads all ids, so it is done once for the same data.
        if self._checked.get(split) != counts:
            sides = reversed(self.directions[0])
            for side, vocab_size in zip(sides, self.vocabularies.sizes):
                tokens[side].check(counts["pairs"], vocab_size)
            self._checked[split] = counts
        return token_arrays.TokenPairs(
            *(
                token_arrays.join_sequences([tokens[side] for side in sides])
                for sides in zip(*self.directions)
            )
        )

    @property
    def corpus_weights(self) -> list[str]:
        """List of `name:weight` of each training corpus; empty if all are 1."""
        described = self._training_corpora
        if all(corpus["weight"] == 1 for corpus in described):
            return []
        return [f"{corpus['name']}:{corpus['weight']}" for corpus in described]

    @functools.cached_property
    def _training_corpora(self):
        # Read once: a run keeps its weights even if kt-datagen changes them.
        return self.corpora("train")

    def corpora(self, split: str) -> list[dict]:
        """Returns the manifest's entries of the corpora of a split, in order.

        Each dictionary has a `name`, a number of `pairs`, a `weight` and
        perhaps a `tag`. Data of earlier versions have none.
        """
        return self._counts(split).get("corpora", [])

    def choose_epoch_pairs(
        self, split: str, seed: int = 0, epoch: int = 0
    ) -> np.ndarray | None:
        """Chooses the pairs of an epoch by the weights of their corpora.

        Returns an array of their numbers, or None if every pair comes once.
        """
        if split != "train" or not self.corpus_weights:
            return None
        sizes = [corpus["pairs"] for corpus in self._training_corpora]
        weights = [corpus["weight"] for corpus in self._training_corpora]
        num_pairs = self._counts(split)["pairs"]
        if sum(sizes) != num_pairs or min(weights) <= 0:
            fault = "whose corpora do not make up the training text"
            raise self._manifest_error(fault)
        chosen = corpora.choose_pairs(list(zip(sizes, weights)), seed, epoch)
        starts = num_pairs * np.arange(len(self.directions))
        return (starts[:, None] + chosen).ravel()

    def text_split(self, split: str) -> tuple[list[str], list[str]]:
        """Returns the lists of sources and references of a split.

        Only "train" has no raw text.
        """
        num_pairs = self._counts(split)["pairs"]
        texts = {
            side: token_arrays.read_text(self.directory, split, side, num_pairs)
            for side in token_arrays.SIDES
        }
        sources, references = (
            [text for side in sides for text in texts[side]]
            for sides in zip(*self.directions)
        )
        return sources, references

    def dev_references(self) -> Iterator[str]:
        """Yields the references of dev, none before they are generated."""
        if self.data_dir and generation.read_manifest(self.directory):
            yield from self.text_split("dev")[1]

    def update_positions(self, hparams: "HParams") -> int:
        """Returns `update_batches.update_positions` for these data."""
        return update_batches.update_positions(
            hparams, self.token_pairs("train"), self.choose_epoch_pairs("train")
        )

    def batches(
        self,
        split: str,
        batch_tokens: int,
        max_length: int | None = None,
        seed: int = 0,
        epoch: int = 0,
        shuffle: bool | None = None,
        packed: bool = False,
        fixed_shapes: bool = False,
        token_pairs: token_arrays.TokenPairs | None = None,
        reference: np.ndarray | None = None,
    ) -> batch_plan.BatchPlan:
        """Plans the batches of one epoch, a `BatchPlan`.

        `shuffle` defaults to True for "train" only. With `packed`, several
        pairs share a row, in batches of one shape; see `plan_packed`.
        `token_pairs` are the pairs of the epoch, by default those of the split.
        The other arguments are as in `plan_batches`.
        """
        pairs = token_pairs or self.token_pairs(split)
        make_plan = packing.plan_packed if packed else batch_plan.plan_batches
        plan = make_plan(
            pairs.inputs.lengths,
            pairs.targets.lengths,
            batch_tokens,
            max_length=max_length,
            seed=seed,
            epoch=epoch,
            shuffle=split == "train" if shuffle is None else shuffle,
            pair_numbers=self.choose_epoch_pairs(split, seed, epoch),
            fixed_shapes=fixed_shapes,
            reference=reference,
        )
        if not len(plan) and not plan.num_dropped:
            raise UserError(
                f"The split {split} of problem {self.name} has no sentence "
                "pairs. Generate the data from more text."
            )
        if not len(plan):
            raise UserError(
                "`max_length` must leave at least one sentence pair. Received: "
                f"max_length={max_length}, problem={self.name}, split={split}, "
                f"{plan.num_dropped} pairs, all longer. Raise max_length."
            )
        return plan

    def evaluation_batches(self, batch_tokens: int) -> batch_plan.BatchPlan:
        """Plans the batches of "dev" for evaluation.

        They hold at most `batch_tokens` positions, as in training, and at most
        `EVALUATION_TOKENS` unless a sentence is longer.
        """
        pairs = self.token_pairs("dev")
        lengths = np.array([side.lengths for side in pairs])
        # Unlike in training, `max_length` leaves nothing out.
        way_out = f"leave such sentences out of dev of {self.name}"
        batch_plan.check_longest(lengths, batch_tokens, way=way_out)
        longest = int(lengths.max(initial=0))
        batch_tokens = min(batch_tokens, max(EVALUATION_TOKENS, longest))
        return self.batches("dev", batch_tokens, shuffle=False)

    def dataset(
        self,
        split: str,
        batch_tokens: int = 4096,
        max_length: int | None = None,
        seed: int = 0,
        packed: bool = False,
        fixed_shapes: bool = False,
    ) -> "tf.data.Dataset":
        """Returns the padded batches of a split as a `tf.data.Dataset`.

        Each iteration is the next epoch. The arguments are as in `batches`.

        Choose `fixed_shapes=True` to compile the model with
        `jit_compile=True` or to train on JAX. XLA compiles a training step
        once for each shape, which takes seconds to minutes. There are then at
        most eight shapes instead of 32. The additional padding changes no loss,
        because padded positions and empty rows are masked.

        With `packed=True` there is one shape and hardly any padding, but the
        model has to keep sentences apart, as `Transformer(packed=True)` does.

        Returns:
            A dataset of known cardinality of `({"inputs": inputs, "targets":
            targets}, targets)`, as `model.fit` takes them. `inputs` and
            `targets` hold int32 ids of shapes `(batch, input_len)` and
            `(batch, target_len)`.
        """
        if split == "train" and any(
            corpus["weight"] % 1 for corpus in self._training_corpora
        ):
            raise UserError(
                "A dataset must have corpora of whole weights, because "
                "`model.fit` expects as many batches in every epoch. Received: "
                f"{' '.join(self.corpus_weights)}. Use kt-trainer, or change "
                "the weights with kt-datagen."
            )
        # Imported here because it needs TensorFlow, unlike the rest.
        from keras_transformer.data.batches.dataset import make_fit_dataset

        def plan_epoch(epoch):
            options = {"packed": packed, "fixed_shapes": fixed_shapes}
            return self.batches(
                split, batch_tokens, max_length, seed, epoch, **options
            )

        return make_fit_dataset(self.token_pairs(split), plan_epoch)

    def _counts(self, split):
        splits = self.manifest["splits"]
        if split not in splits:
            raise UserError(
                "`split` must be the name of a generated split. Received: "
                f"split={split}, problem={self.name}. Use one of: "
                f"{', '.join(splits)}."
            )
        return splits[split]
