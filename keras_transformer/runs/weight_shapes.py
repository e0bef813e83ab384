"""The names and shapes of a model's weights, computed without Keras."""


def weight_shapes(hparams, vocab_size, input_vocab_size=None):
    """Returns the shapes of the weights that a checkpoint must hold.

    They are those of `build_transformer`, under the names of `variables`. A
    checkpoint can thus be checked before the backend is loaded and before
    anything is read into memory.

    Args:
        hparams: An `HParams`.
        vocab_size: Number of ids of the targets.
        input_vocab_size: Number of ids of the inputs. Defaults to None, which
            means `vocab_size`.

    Returns:
        A dictionary of name to tuple of integers.

    Example:

    >>> from keras_transformer.hparam import HParams
    >>> shapes = weight_shapes(HParams(d_model=8, num_heads=2), 100)
    >>> shapes["model/embedding/embeddings"]
    (100, 8)
    """
    d_model, d_ff = hparams.d_model, hparams.d_ff
    shapes = {
        f"embedding/{name}": (num_rows, d_model)
        for name, num_rows in hparams.embedding_rows(
            vocab_size, input_vocab_size
        ).items()
    }
    if hparams.positional_encoding == "learned":
        for side in ("input", "target"):
            shapes[f"{side}_positions/positions"] = (
                hparams.max_length,
                d_model,
            )
    stacks = {
        "encoder": (hparams.num_layers, ("self_attention",)),
        "decoder": (
            hparams.decoder_depth,
            ("self_attention", "cross_attention"),
        ),
    }
    for stack, (num_layers, kinds) in stacks.items():
        for number in range(num_layers):
            layer = f"{stack}/layer_{number}"
            for kind in kinds:
                shapes.update(_attention(f"{layer}/{kind}", hparams))
            shapes[f"{layer}/feed_forward/inner"] = (d_model, d_ff)
            shapes[f"{layer}/feed_forward/inner_bias"] = (d_ff,)
            shapes[f"{layer}/feed_forward/outer"] = (d_ff, d_model)
            shapes[f"{layer}/feed_forward/outer_bias"] = (d_model,)
            for kind in (*kinds, "feed_forward"):
                shapes.update(_norm(f"{layer}/{kind}_residual/norm", d_model))
        # With pre-norm, no layer normalises the output of the last one.
        if hparams.norm == "pre":
            shapes.update(_norm(f"{stack}/final_norm", d_model))
    return {f"model/{name}": shape for name, shape in shapes.items()}


def _attention(name, hparams):
    d_model = hparams.d_model
    width, value_width = (hparams.num_heads * w for w in hparams.head_widths)
    return {
        f"{name}/query": (d_model, width),
        f"{name}/key": (d_model, width),
        f"{name}/value": (d_model, value_width),
        f"{name}/output": (value_width, d_model),
    }


def _norm(name, d_model):
    return {f"{name}/gamma": (d_model,), f"{name}/beta": (d_model,)}
