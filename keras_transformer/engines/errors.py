"""Errors of the devices, with messages for the user."""

from keras_transformer.errors import UserError


class OutOfMemory(UserError):
    """A batch does not fit into the memory of a device."""

    def __init__(self, batch_tokens):
        super().__init__(
            f"Out of memory on a device with batch_tokens={batch_tokens}. "
            "Lower it with --batch_tokens, or use --batch_tokens=auto. With "
            "--effective_batch_tokens the update remains the same."
        )


class ModelTooLarge(UserError):
    """A model does not fit into the memory of a device."""

    def __init__(self, hparams):
        super().__init__(
            "Out of memory: a device has no room for the model and its "
            f"optimizer with d_model={hparams.d_model}, d_ff={hparams.d_ff}, "
            f"num_layers={hparams.num_layers}, "
            f"num_decoder_layers={hparams.decoder_depth}, "
            f"max_length={hparams.max_length}, optimizer={hparams.optimizer}. "
            "Lower one of the sizes, or use optimizer=adafactor."
        )


class WorkerLost(UserError):
    """Another machine of the training no longer answers."""

    def __init__(self, reason):
        super().__init__(
            "Another worker no longer answers"
            f"{': ' + reason.splitlines()[0] if reason else ''}. Start all "
            "workers again with the same command. They continue from the "
            "newest checkpoint."
        )
