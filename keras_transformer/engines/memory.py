"""The memory of the machine, of this process, and of a model."""

import os
import resource
import sys

GROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # the limit of a container


def process_peak_bytes():
    """Returns the peak resident size of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, and other systems report KiB.
    return peak if sys.platform == "darwin" else 1024 * peak


def machine_bytes():
    """Returns the memory of the machine or of the container, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open(GROUP_LIMIT, encoding="utf-8") as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # not in a container, or one without a limit
        return total


def least_bytes(hparams, vocab_size, input_vocab_size=None):
    """Returns the least memory of the weights and their moments, in bytes.

    Biases, normalisation and everything about a batch come on top.

    Args:
        hparams: `HParams` of the model.
        vocab_size: Number of token ids of the targets.
        input_vocab_size: Number of token ids of the inputs. Defaults to None,
            which means `vocab_size`.
    """
    d_model, num_heads = hparams.d_model, hparams.num_heads
    attention = 2 * d_model * num_heads * sum(hparams.head_widths)
    feed_forward = 2 * d_model * hparams.d_ff
    # An encoder layer has one attention and a decoder layer has two.
    layers = hparams.num_layers * (attention + feed_forward)
    layers += hparams.decoder_depth * (2 * attention + feed_forward)
    # Adafactor's moments are small.
    copies = 1 if hparams.optimizer == "adafactor" else 3
    rows = hparams.embedding_rows(vocab_size, input_vocab_size)
    return 4 * copies * (layers + sum(rows.values()) * d_model)
