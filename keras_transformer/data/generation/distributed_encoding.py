"""Encoding of texts on several machines by Apache Beam."""

import functools
import io
import json
import logging
import uuid

import numpy as np

from keras_transformer.data.generation.encoding import encode_chunk
from keras_transformer.data.generation.token_arrays import TokenSequences
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.errors import UserError
from keras_transformer.errors import require_package

# The runners of Apache Beam, by the names that users call them.
RUNNERS = {
    "direct": "DirectRunner",
    "prism": "PrismRunner",
    "dask": "apache_beam.runners.dask.dask_runner.DaskRunner",
    "flink": "FlinkRunner",
    "spark": "SparkRunner",
    "dataflow": "DataflowRunner",
    "portable": "PortableRunner",
}

SUFFIX = ".npz"  # of the file of ids beside a file of texts

_logger = logging.getLogger(__name__)


class DistributedEncoder:
    """Encodes chunks on the workers of an Apache Beam runner.

    This machine writes each chunk of texts to a file, the workers write the ids
    of each chunk to a file beside it, and this machine reads those in order.
    The files are in a new folder of Beam's `temp_location`, or else of the
    directory of the data, and are removed at the end.

    The runner is one of `RUNNERS`, and the arguments are Beam's pipeline
    options, such as `["--project=mine", "--temp_location=gs://mine/tmp"]`.
    Raises a `UserError` if the runner cannot start with these options.
    """

    def __init__(self, runner, arguments=()):
        name = f"The runner {runner} needs the package apache-beam, which"
        require_package("apache_beam", name, "'.[beam]'")
        from apache_beam.options import pipeline_options

        self._runner = RUNNERS[runner]
        self.pipeline_options = pipeline_options.PipelineOptions(
            list(arguments), runner=self._runner
        )
        self._temp_location = self.pipeline_options.view_as(
            pipeline_options.GoogleCloudOptions
        ).temp_location
        # Checked at once, before hours of reading text.
        try:
            self._new_pipeline()
            if self._temp_location:
                _file_systems().get_filesystem(self._temp_location)
        except (ImportError, ValueError) as error:
            reason = str(error).strip(".")
            raise UserError(
                f"{self._runner} cannot start: {reason}. Correct "
                "--pipeline_options, or install what is missing."
            ) from error

    def encode(self, vocabularies, chunks, directory):
        """Yields the encoded texts of each chunk; see `LocalEncoder.encode`."""
        import apache_beam as beam

        place = self._temp_location or directory
        # The name is new, so workers of a killed command cannot write there.
        folder = _file_systems().join(place, f"chunks-{uuid.uuid4().hex}")
        _file_systems().mkdirs(folder)
        try:
            paths, sizes = [], []
            for number, chunk in enumerate(chunks):
                paths.append(_file_systems().join(folder, f"{number:08}"))
                sizes.append([len(texts) for texts in chunk])
                _write(paths[-1], json.dumps(chunk).encode())
            _logger.info(
                "%s encodes %d chunks in %s.", self._runner, len(paths), folder
            )
            models = tuple(v.model_bytes for v in vocabularies)
            encode = functools.partial(encode_file, models)
            with self._new_pipeline() as pipeline:
                _ = (
                    pipeline
                    | "List chunks" >> beam.Create(paths)
                    # Otherwise a single worker might get all of them.
                    | "Spread chunks" >> beam.Reshuffle()
                    | "Encode chunks" >> beam.Map(encode)
                )
            for path, size in zip(paths, sizes):
                yield _read_encoded(path, size)
        finally:
            # Object stores have no directories, only names that begin alike.
            is_directory = _file_systems().exists(folder)
            _file_systems().delete([folder if is_directory else f"{folder}/"])

    def _new_pipeline(self):
        import apache_beam as beam

        return beam.Pipeline(options=self.pipeline_options)


def encode_file(models, path):
    """Encodes the texts in a file and writes their ids to a file beside it.

    A worker calls it; a second worker may call it for the same file.
    """
    encoded = encode_chunk(_vocabularies(models), json.loads(_read(path)))
    content = io.BytesIO()
    # The ids and the offsets of each side.
    np.savez(
        content, *(a for side in encoded for a in (side.ids, side.offsets))
    )
    # Each worker writes under a unique name until the file is complete.
    aside = f"{path}-{uuid.uuid4().hex}"
    _write(aside, content.getvalue())
    _file_systems().rename([aside], [path + SUFFIX])


@functools.lru_cache(maxsize=1)
def _vocabularies(models):
    return [Subwords.from_bytes(model) for model in models]


def _read_encoded(path, size):
    """Returns the `TokenSequences` of each side of a chunk of this size."""
    arrays = iter(np.load(io.BytesIO(_read(path + SUFFIX))).values())
    sides = [
        TokenSequences(ids, offsets) for ids, offsets in zip(arrays, arrays)
    ]
    encoded_size = [len(side) for side in sides]
    if encoded_size != size:
        raise UserError(
            f"The workers did not encode all texts: {path + SUFFIX} has "
            f"{encoded_size} instead of {size}. Start again."
        )
    return sides


def _read(path):
    with _file_systems().open(path) as file:
        return file.read()


def _write(path, content):
    with _file_systems().create(path) as file:
        file.write(content)


def _file_systems():
    """Returns Beam's access to local files, gs://, hdfs:// and s3://."""
    # Imported here because it is an optional dependency.
    from apache_beam.io.filesystems import FileSystems

    return FileSystems
