"""Parallel corpora from tensorflow_datasets.

tensorflow_datasets does the downloading: it resumes file by file, checks the
SHA-256 and the size of each file, and refuses archives that would write outside
their folder. Nothing else in this package downloads or extracts.
"""

import textwrap

from keras_transformer.errors import UserError

_TFDS_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_BATCH = 1024  # examples of a call into TensorFlow; single ones are 10x slower


def prepare_tfds(name, tmp_dir, way_out):
    """Returns the builder of a dataset whose data it downloads to `tmp_dir`.

    Data that are there already are used. `name` is a dataset with its
    configuration, such as "wmt14_translate/de-en". Any failure is a `UserError`
    that ends with the sentence `way_out`.
    """
    # Imported here because it loads TensorFlow, which most problems do without.
    try:
        import tensorflow_datasets as tfds

        builder = tfds.builder(name, data_dir=tmp_dir)
        builder.download_and_prepare()
    # It fails in many ways of its own, each with its own exception: no network,
    # checksums, disk, imports.
    except Exception as error:
        reason = textwrap.shorten(str(error), 200, placeholder=" ...")
        raise UserError(
            f"tensorflow_datasets could not prepare {name} in {tmp_dir}: "
            f"{type(error).__name__}: {reason}. {way_out}"
        ) from error
    return builder


def tfds_pairs(builder, split, source, target):
    """Yields the pairs of a split in the order of the files on the disk."""
    import tensorflow_datasets as tfds

    examples = builder.as_dataset(
        split=_TFDS_SPLITS[split],
        shuffle_files=False,
        # One file at a time: several would be read by turns, and the order of
        # the pairs would depend on the number of files.
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    for batch in tfds.as_numpy(examples.batch(_BATCH)):
        for pair in zip(batch[source], batch[target]):
            yield tuple(text.decode() for text in pair)


def tfds_count(builder, split):
    """Returns the number of pairs in a split of a builder."""
    return builder.info.splits[_TFDS_SPLITS[split]].num_examples
