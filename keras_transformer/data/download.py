"""Get a parallel corpus through tensorflow_datasets, and check what came.

tensorflow_datasets does the downloading: it resumes by file, checks each file's
SHA-256 and size, and refuses archives that would write outside their folder.
Nothing else in this package downloads or extracts.
"""

_TFDS_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_BATCH = 1024  # rows for each call into TensorFlow; one by one is 10x slower


def prepare_tfds(name, tmp_dir, way_out):
    """Return a builder of tensorflow_datasets whose data are there.

    Downloads and prepares them unless an earlier call did. The import of
    TensorFlow waits until this call.

    Args:
        name: dataset and config, such as `"wmt14_translate/de-en"`.
        tmp_dir: directory for downloads and prepared data; one that
            tensorflow_datasets filled before, such as `~/tensorflow_datasets`,
            serves as it is.
        way_out: sentence that says what to do where this fails.

    Raises:
        ValueError: if the data cannot be had, for whatever reason.
    """
    try:
        import tensorflow_datasets as tfds

        builder = tfds.builder(name, data_dir=tmp_dir)
        builder.download_and_prepare()
    # It fails in many ways of its own: no network, checksums, disk, imports.
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            "The corpus must be downloaded, or placed by hand. Received: "
            f"tensorflow_datasets {name} in {tmp_dir} failed with "
            f"{type(error).__name__}: {reason}. {way_out}"
        ) from error
    return builder


def tfds_pairs(builder, split, source, target):
    """Yield the pairs of one split in the order in which they lie on disk.

    Args:
        builder: what `prepare_tfds` returned.
        split: `"train"`, `"dev"` or `"test"`.
        source: language code of the source side.
        target: language code of the target side.
    """
    import tensorflow_datasets as tfds

    examples = builder.as_dataset(
        split=_TFDS_SPLITS[split],
        shuffle_files=False,
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    for batch in tfds.as_numpy(examples.batch(_BATCH)):
        for pair in zip(batch[source], batch[target]):
            yield tuple(text.decode() for text in pair)


def tfds_count(builder, split):
    """Return how many pairs a split of the builder holds."""
    return builder.info.splits[_TFDS_SPLITS[split]].num_examples


def check_count(expected, counts, place, way_out):
    """Raise a `ValueError` unless a corpus has the size it is known for.

    Args:
        expected: known number of pairs; None if there is none.
        counts: numbers of which one must be that; for instance of all lines and
            of those with text on both sides.
        place: where the corpus lies, for the message.
        way_out: sentence that says what to do.
    """
    if expected is None or expected in counts:
        return
    received = " or ".join(f"{count:,}" for count in dict.fromkeys(counts))
    raise ValueError(
        f"The corpus must have {expected:,} pairs. Received: {place} with "
        f"{received}. {way_out}"
    )
