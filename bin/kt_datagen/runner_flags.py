"""The flags of kt-datagen that choose the machines for its work."""

import shlex

from keras_transformer import fields
from keras_transformer.bin.shared import flags
from keras_transformer.data.distributed_encoding import RUNNERS
from keras_transformer.data.distributed_encoding import DistributedEncoder
from keras_transformer.data.encoding import LocalEncoder
from keras_transformer.errors import UserError

GROUP = flags.group(
    "Several machines",
    flags.choice(
        "runner",
        ("local", *RUNNERS),
        "Where the training text is encoded: local is this machine with all "
        "its cores, and the others are runners of Apache Beam.",
        default="local",
    ),
    flags.text(
        "pipeline_options",
        "Options of Apache Beam for the runner, such as '--project=mine "
        "--region=europe-west1 --temp_location=gs://mine/tmp'.",
        default="",
    ),
)


def encoder(values):
    """Returns the encoder that the flags choose.

    Args:
        values: The flags of the command.

    Raises:
        UserError: If the options do not suit the runner, or Apache Beam is
            missing.
    """
    if values.runner != "local":
        return DistributedEncoder(values.runner, _arguments(values))
    if values.pipeline_options:
        raise UserError(
            "`--pipeline_options` must go with a runner of Apache Beam. "
            f"Received: {_shown(values)} with --runner=local. Remove it, or "
            "add --runner=direct."
        )
    return LocalEncoder()


def _arguments(values):
    try:
        arguments = shlex.split(values.pipeline_options)
    except ValueError as error:
        raise UserError(
            "`--pipeline_options` must be arguments as a shell reads them. "
            f"Received: {_shown(values)} ({error}). Correct the quotation "
            "marks."
        ) from error
    for argument in arguments:
        name = argument.split("=")[0]
        if not name.startswith("--") or name == "--runner":
            raise UserError(
                "`--pipeline_options` must be of the form --name=value, "
                f"without --runner. Received: {_shown(values)}, where "
                f"{fields.quote(argument)} is not. Correct it; --runner is a "
                "flag of kt-datagen."
            )
    return arguments


def _shown(values):
    return f"--pipeline_options={fields.quote(values.pipeline_options)}"
