"""Errors of the devices, with messages for the user."""


class OutOfMemory(ValueError):
    """A batch does not fit into the memory of a device."""

    def __init__(self, batch_tokens):
        super().__init__(
            "A batch must fit into the device's memory. Received: "
            f"batch_tokens={batch_tokens}. Lower it with --batch_tokens, or "
            "use --batch_tokens=auto. With --effective_batch_tokens the update "
            "remains the same."
        )


class ModelTooLarge(ValueError):
    """A model does not fit into the memory of a device."""

    def __init__(self, hparams):
        super().__init__(
            "A model and its optimizer must fit into the device's memory. "
            f"Received: d_model={hparams.d_model}, d_ff={hparams.d_ff}, "
            f"num_layers={hparams.num_layers}, "
            f"num_decoder_layers={hparams.decoder_depth}, "
            f"max_length={hparams.max_length}, optimizer={hparams.optimizer}. "
            "Lower one of the sizes, or use optimizer=adafactor."
        )


class WorkerLost(ValueError):
    """Another machine of the training no longer answers."""

    def __init__(self, reason):
        super().__init__(
            "All workers must run until the training ends. Received: "
            f"{reason.splitlines()[0] if reason else 'no answer'}. Start all "
            "of them again with the same command. They continue from the "
            "newest checkpoint."
        )
