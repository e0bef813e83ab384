"""Measures how fast other programs train the model of measure.py.

    python benchmarks/training_peers.py --peer=torch --size=base \
        --positions=16384 --text=text

The text, its vocabulary and the batch are those of `measure.py
--mode=train`. Each update is complete: forward and backward pass in bfloat16,
and Adam. PyTorch uses its fused attention and its fused Adam, keras-hub the
compilation of Keras. One line of JSON has the target tokens per second without
padding, the median of the passes.
"""

import argparse
import json
import os

from measurements import machine
from measurements import workload

from keras_transformer.data.batches import batch_plan
from keras_transformer.registry import get_hparams
from keras_transformer.training.backends.cost import count_training_flops
from keras_transformer.training.backends.cost import find_matrix_peak

ADAM = (0.9, 0.98)  # beta1, beta2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", choices=["torch", "keras_hub"], required=True)
    parser.add_argument("--size", required=True)
    parser.add_argument("--positions", type=int, required=True)
    parser.add_argument("--text", required=True)
    parser.add_argument("--compile", action="store_true")
    flags = parser.parse_args()
    hparams = get_hparams(f"transformer_{flags.size}")
    pairs, vocab_size = workload.load_text(
        *(os.path.join(flags.text, f"train.{x}") for x in ("source", "target")),
        os.path.join(flags.text, "vocabulary.model"),
    )
    lengths = workload.lengths_for(hparams)
    plan = workload.plan_lengths(pairs, flags.positions, lengths)
    batches = list(batch_plan.pad_batches(pairs, plan))
    make = make_torch if flags.peer == "torch" else make_keras_hub
    train, device = make(hparams, vocab_size, batches, flags.compile)
    train(1)  # compiles
    passes = machine.time_passes(train, num_passes=5)
    num_tokens = sum(int((targets != 0).sum()) for _, targets in batches)
    speed, speed_range = passes.rate(num_tokens)
    # Real tokens only, as measure.py counts for its utilisation.
    rows = [((i != 0).sum(1), (t != 0).sum(1)) for i, t in batches]
    flops = sum(
        count_training_flops(
            hparams.model, vocab_size, list(zip(inputs, targets))
        )
        for inputs, targets in rows
    )
    peak = find_matrix_peak(device, "bfloat16")
    utilization = round(passes.rate(flops)[0] / peak, 4) if peak else None
    print(
        json.dumps(
            {
                "target_tokens_per_second": round(speed, 1),
                "target_tokens_per_second_range": [
                    round(x, 1) for x in speed_range
                ],
                "model_flops_utilization": utilization,
                **passes.figures(),
            }
        )
    )


def make_torch(hparams, vocab_size, batches, compiles):
    """Returns a function that trains `torch.nn.Transformer`, and the device."""
    import torch
    from torch.nn import functional

    device = "cuda" if torch.cuda.is_available() else "cpu"
    d_model = hparams.d_model

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = torch.nn.Embedding(vocab_size, d_model)
            torch.nn.init.normal_(self.embedding.weight, std=d_model**-0.5)
            rates = 10000 ** (torch.arange(0, d_model, 2) / d_model)
            angles = torch.arange(512)[:, None] / rates
            sinusoids = torch.cat([angles.sin(), angles.cos()], -1)
            self.register_buffer("positions", sinusoids)
            self.dropout = torch.nn.Dropout(hparams.dropout)
            self.transformer = torch.nn.Transformer(
                *(d_model, hparams.num_heads),
                *(hparams.num_layers, hparams.model.decoder_depth),
                *(hparams.d_ff, hparams.dropout),
                batch_first=True,
            )

        def embed(self, ids):
            x = self.embedding(ids) * d_model**0.5
            return self.dropout(x + self.positions[: ids.shape[1]])

        def forward(self, inputs, targets):
            size = targets.shape[1]
            later = torch.ones(size, size, dtype=torch.bool, device=device)
            states = self.transformer(
                *(self.embed(inputs), self.embed(targets)),
                tgt_mask=later.triu(1),
                src_key_padding_mask=inputs == 0,
                memory_key_padding_mask=inputs == 0,
                tgt_is_causal=True,
            )
            return functional.linear(states, self.embedding.weight)

    model = Model().to(device)
    optimizer = torch.optim.Adam(
        model.parameters(), 1e-4, ADAM, eps=1e-9, fused=device == "cuda"
    )
    forward = torch.compile(model) if compiles else model
    tensors = []
    for inputs, targets in batches:
        inputs, targets = (
            torch.tensor(ids, dtype=torch.long, device=device)
            for ids in (inputs, targets)
        )
        tensors.append((inputs, functional.pad(targets, (1, -1)), targets))

    def train(num_times):
        for inputs, shifted, targets in tensors * num_times:
            with torch.autocast(device, torch.bfloat16):
                logits = forward(inputs, shifted)
            loss = functional.cross_entropy(
                *(logits.float().flatten(0, 1), targets.flatten()),
                ignore_index=0,
                label_smoothing=hparams.label_smoothing,
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss.item()  # waits for the device

    return train, torch.cuda.get_device_name() if device == "cuda" else ""


def make_keras_hub(hparams, vocab_size, batches, compiles):
    """Returns a function that trains layers of keras-hub, and the device."""
    import keras
    import keras_hub
    import numpy as np
    import tensorflow as tf

    keras.config.set_dtype_policy("mixed_bfloat16")
    hub, d_model = keras_hub.layers, hparams.d_model
    embedding = hub.ReversibleEmbedding(vocab_size, d_model, mask_zero=True)
    positions = hub.SinePositionEncoding()
    dropout = keras.layers.Dropout(hparams.dropout)

    def embed(ids):
        x = embedding(ids) * d_model**0.5
        return dropout(x + positions(x))

    inputs, shifted = (keras.Input((None,), dtype="int32") for _ in range(2))
    sizes = hparams.d_ff, hparams.num_heads, hparams.dropout
    encoded, states = embed(inputs), embed(shifted)
    for _ in range(hparams.num_layers):
        encoded = hub.TransformerEncoder(*sizes)(encoded)
    for _ in range(hparams.model.decoder_depth):
        states = hub.TransformerDecoder(*sizes)(states, encoded)
    model = keras.Model([inputs, shifted], embedding(states, reverse=True))
    model.compile(
        keras.optimizers.Adam(1e-4, *ADAM),
        keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, ignore_class=0
        ),
    )
    examples = [
        # The decoder begins with an id that is not padding, which is masked.
        ((i, np.pad(t[:, :-1], ((0, 0), (1, 0)), constant_values=2)), t)
        for i, t in batches
    ]
    gpus = tf.config.list_physical_devices("GPU")

    def train(num_times):
        for features, targets in examples * num_times:
            model.train_on_batch(features, targets)

    device = ""
    if gpus:
        device = tf.config.experimental.get_device_details(gpus[0])[
            "device_name"
        ]
    return train, device


if __name__ == "__main__":
    main()
