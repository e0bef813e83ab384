"""The rows of a sweep: the models to train, with scale and seed."""

import dataclasses
import json

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.sweep.scales import scaled
from keras_transformer.sweep.variants import Variant


@dataclasses.dataclass(frozen=True)
class Row:
    """A variant with a seed: a run, and a line of the table."""

    variant: Variant
    hparams: HParams
    seed: int
    directory: str  # name of the run's directory

    @property
    def overrides(self):
        """The differences from the hparams set, as --hparams takes them."""
        of_set = registry.get_hparams(self.variant.hparams_set)
        return ",".join(
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in dataclasses.asdict(self.hparams).items()
            if value != getattr(of_set, name)
        )


def make_rows(variants, scale, overrides, train_steps, seeds_of):
    """Returns the rows that train some variants.

    Args:
        variants: List of `Variant`.
        scale: Name of the scale; see `scaled`.
        overrides: Changes of all variants, as --hparams takes them. They come
            after the scale and before the variant's own changes.
        train_steps: Number of updates, or None for that of each variant.
        seeds_of: Function from the name of a variant to its seeds.

    Returns:
        A list of `Row`.

    Raises:
        ValueError: If a value does not fit, or if two rows are the same.
    """
    rows = []
    for variant in variants:
        hparams = scaled(registry.get_hparams(variant.hparams_set), scale)
        hparams = hparam.parse_overrides(hparams, overrides)
        hparams = dataclasses.replace(hparams, **variant.changes)
        if train_steps:
            hparams = dataclasses.replace(hparams, train_steps=train_steps)
        for number, seed in enumerate(seeds_of(variant.name)):
            ending = f"_seed{seed}" if number else ""
            directory = variant.name + ending
            rows.append(Row(variant, hparams, seed, directory))
    _check_different(rows)
    return rows


def _check_different(rows):
    names = {}
    for row in rows:
        problem = row.variant.problem
        key = problem.name, problem.data_dir, row.hparams, row.seed
        if key in names:
            raise ValueError(
                "The rows of a sweep must differ. Received: "
                f"{names[key]} and {row.directory}, with the same data, "
                "hyper-parameters and seed. Name each row once, and leave what "
                "the rows vary out of --hparams."
            )
        names[key] = row.directory
