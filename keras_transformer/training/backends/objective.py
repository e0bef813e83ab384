"""The loss that training minimises, the same for every backend."""

import math

from keras import ops

from keras_transformer import losses
from keras_transformer.layers import dropout_noise
from keras_transformer.layers.dropout import RandomBits
from keras_transformer.layers.dropout import derive_seeds
from keras_transformer.masks import padding_mask

# Number of target positions whose logits are in memory at once. Smaller chunks
# are slower, since each one adds to the gradient of the whole softmax matrix.
CHUNK_ROWS = 1024
# Weight of `span_loss`. With 1.0, the F1 of a small parser (one seed) was 83.7
# instead of 84.0 for its chart alone, and 85.8 instead of 86.0 overall.
SPAN_WEIGHT = 2.0
SUMS = ("loss_sum", "consistency_sum")
# Purposes of the seeds that follow from the seed of a row.
SECOND_PASS, CUTOFF = 1, 2


def objective(
    model, hparams, num_positions, inputs, targets, seeds, guidance=None
):
    """Computes the training loss, summed over a part of a batch.

    Without consistency training this is the label-smoothed cross-entropy. With
    it, the model sees every row twice, with independent dropout, and a
    divergence of both outputs is added. Each `CE` and `KL` is a sum over real
    target tokens, `a` is `consistency_weight`:

    - `simcut`, after Gao et al. (2022): `CE(p) + a KL(p || q)`. The second pass
      also loses the embeddings of a share `token_cutoff` of its source and
      target tokens. Gradients flow through both passes, as in the paper.
    - `r_drop`, after Wu et al. (2021): `(CE(p) + CE(q)) / 2 + a (KL(p || q) +
      KL(q || p)) / 4`. The paper's loss is twice as large at the same `a`. Half
      of it has the scale of plain cross-entropy, and Adam's updates do not
      depend on the scale.

    With `guided_alignment`, the guidance is 1 for linked tokens, `(rows,
    target_len, input_len)`. The `alignment_loss` of the decoder's last layer,
    from which word links are read, is then added with this weight. With a
    `ParsingTransformer`, the guidance is the spans of `span_loss`, `(rows,
    target_len, 3)`, and this loss is added with the weight `SPAN_WEIGHT`.

    The ids have the shapes `(rows, input_len)` and `(rows, target_len)`, and
    the seeds for `dropout_noise` have `(rows,)`. `num_positions` is the
    approximate number of target positions. Returns the loss, a float32 scalar,
    and a dictionary of the `SUMS` to report: the cross-entropy alone, and the
    divergence without its weight.
    """
    num_chunks = count_chunks(hparams, num_positions)
    part = model, hparams, inputs, targets, seeds, num_chunks
    if hparams.consistency == "none":
        return _single_pass(*part, guidance)
    return _consistent_passes(*part)


def count_chunks(hparams, num_positions):
    """Returns the number of chunks in which the logits are computed."""
    return math.ceil(hparams.passes_per_update * num_positions / CHUNK_ROWS)


def _single_pass(model, hparams, inputs, targets, seeds, num_chunks, guidance):
    """Returns the cross-entropy, with the loss of any guidance."""
    features = {"inputs": inputs, "targets": targets}
    added = 0.0
    with dropout_noise(seeds):
        if hasattr(model, "spans"):
            decoded, logits = model.decode_and_classify(features, training=True)
            loss = losses.span_loss(logits, guidance, padding_mask(inputs))
            added = SPAN_WEIGHT * loss
        elif hparams.guided_alignment:
            decoded, weights = model.decode(
                features, training=True, return_weights=True
            )
            loss = losses.alignment_loss(weights["cross"][-1], guidance)
            added = hparams.guided_alignment * loss
        else:
            decoded = model.decode(features, training=True)
    loss = losses.projected_cross_entropy(
        *model.embedding.factors(decoded),
        targets,
        hparams.label_smoothing,
        num_chunks,
    )
    sums = dict(zip(SUMS, (loss, ops.zeros(()))))
    return loss + added, sums


def _consistent_passes(model, hparams, inputs, targets, seeds, num_chunks):
    """Returns the loss of two passes that have to agree."""
    features = {"inputs": inputs, "targets": targets}
    kept = None
    if hparams.consistency == "simcut":
        kept = _keep_tokens(features, seeds, hparams.token_cutoff)
    all_seeds = [ops.cast(seeds, "uint32"), derive_seeds(seeds, SECOND_PASS)]
    # One batch of twice the rows: one call compiles faster than two.
    with dropout_noise(ops.concatenate(all_seeds)):
        decoded = model.decode(
            {name: ops.concatenate([x, x]) for name, x in features.items()},
            training=True,
            kept=kept,
        )
    is_symmetric = hparams.consistency == "r_drop"
    passes = ops.split(decoded, 2)
    (first, matrix), (second, _) = map(model.embedding.factors, passes)
    loss, *sums = losses.projected_consistency(
        first,
        second,
        matrix,
        targets,
        hparams.label_smoothing,
        # The symmetric divergence is a mean already.
        hparams.consistency_weight / (2 if is_symmetric else 1),
        is_symmetric,
        num_chunks,
    )
    return loss, dict(zip(SUMS, sums))


def _keep_tokens(features, seeds, token_cutoff):
    """Marks the tokens of both passes that keep their embedding."""
    bits = RandomBits(derive_seeds(seeds, CUTOFF))
    kept = {}
    for name, ids in features.items():
        of_second = bits.draw_mask(ops.shape(ids), token_cutoff)
        kept[name] = ops.concatenate([ops.ones_like(of_second), of_second])
    return kept
