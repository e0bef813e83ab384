"""Prints the tables of docs/devices.md, which estimate the cost of training.

    python benchmarks/scaling.py

Nothing here is measured. The tables follow from the dimensions of the models
and from the assumptions below. Change these to the figures of your machines.
"""

import typing

VOCAB_SIZE = 37000  # subwords of both languages together, section 5.1
UPDATE_TOKENS = 25000  # per side in an update
LENGTH = 32  # tokens per row, for the attention weights
SHARES = (0.25, 0.40, 0.50)  # shares of the peak that arithmetic reaches
LIKELY_SHARE = 0.40
FLOOR = 1000 * 4e-6  # shortest update in seconds: 1,000 tiny kernels
OPTIMIZER_BYTES = 28  # 4 float32 read and 3 written for each parameter
GPUS_PER_MACHINE = 8
GB = 1e9


class Model(typing.NamedTuple):
    """A model in Table 3 of the paper and its training (section 5.2)."""

    name: str
    num_layers: int
    d_model: int
    d_ff: int
    num_heads: int
    train_steps: int
    paper_seconds: float  # of a step on 8 P100s


class Device(typing.NamedTuple):
    """A GPU: its peak in FLOP/s and its memory rate in bytes per second."""

    peak: float
    memory: float = 0.0


BASE = Model("base", 6, 512, 2048, 8, 100_000, 0.4)
BIG = Model("big", 6, 1024, 4096, 16, 300_000, 1.0)
P100 = Device(9.5e12)  # float32, the paper's own estimate
P100_LINKS = {"PCIe 3": 10 * GB, "NVLink": 40 * GB}
H100 = Device(989e12, 0.8 * 3350 * GB)  # dense bfloat16
NVLINK = 300 * GB  # rate of a ring inside a machine of 8 H100s
# Rate of a whole machine: four fifths of the nominal rate.
NETWORKS = {
    "8 x 400 Gbit/s": 0.8 * 8 * 50 * GB,
    "100 Gbit/s": 0.8 * 12.5 * GB,
}


def num_parameters(model):
    """Returns the number of weights that `build_transformer` makes."""
    d_model, d_ff = model.d_model, model.d_ff
    attention = 4 * d_model**2
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return VOCAB_SIZE * d_model + model.num_layers * (encoder + decoder)


def source_flops(model):
    """Returns the number of operations to train on a source token.

    These are six for each weight that the token is multiplied by: two in the
    forward pass and four in the backward pass. The count includes the decoder's
    keys and values of the encoder's output.
    """
    d_model = model.d_model
    layer = 6 * d_model**2 + 2 * d_model * model.d_ff
    return 6 * model.num_layers * layer


def target_flops(model):
    """Returns the number of operations to train on a target token."""
    logits = VOCAB_SIZE * model.d_model
    return source_flops(model) + 6 * logits  # the decoder layers cost as much


def score_flops(model, length):
    """Returns the number of operations that attention adds for both tokens.

    These are the products of queries and keys, and of weights and values, in
    three attentions per layer.
    """
    return 3 * model.num_layers * 3 * 4 * length * model.d_model


def update_flops(model, tokens=UPDATE_TOKENS):
    """Returns the number of operations of an update."""
    return tokens * (source_flops(model) + target_flops(model))


def ring_bytes(model, num_replicas):
    """Returns the bytes that a replica sends to sum the gradients."""
    gradients = 4 * num_parameters(model)
    return 2 * (num_replicas - 1) / num_replicas * gradients


def activation_bytes(model):
    """Returns the bytes of activations of a source and a target position.

    The backward pass needs the inputs of all matrix products and
    normalisations, and the attention weights, in float32.
    """
    encoder = 8 * model.d_model + model.d_ff
    decoder = 14 * model.d_model + model.d_ff
    weights = 3 * model.num_heads * LENGTH
    return 4 * model.num_layers * (encoder + decoder + weights)


def arithmetic_seconds(model, num_gpus, tokens, share=LIKELY_SHARE):
    """Returns the seconds of the matrix products alone."""
    return update_flops(model, tokens) / num_gpus / (share * H100.peak)


def sum_seconds(model, num_gpus, network):
    """Returns the seconds to sum gradients in and between machines."""
    inside = min(num_gpus, GPUS_PER_MACHINE)
    seconds = ring_bytes(model, inside) / NVLINK
    if num_gpus > GPUS_PER_MACHINE:
        machines = num_gpus // GPUS_PER_MACHINE
        seconds += ring_bytes(model, machines) / NETWORKS[network]
    return seconds


def optimizer_seconds(model):
    """Returns the seconds of Adam, which the rate of the memory limits."""
    return OPTIMIZER_BYTES * num_parameters(model) / H100.memory


def step_seconds(model, num_gpus, network, tokens, share=LIKELY_SHARE):
    """Returns the seconds of an update in which nothing overlaps."""
    return (
        max(arithmetic_seconds(model, num_gpus, tokens, share), FLOOR)
        + sum_seconds(model, num_gpus, network)
        + optimizer_seconds(model)
    )


def print_table(title, names, rows):
    """Prints a Markdown table."""
    print(f"\n{title}\n")
    for row in (names, ["---"] * len(names), *rows):
        print(f"| {' | '.join(row)} |")


def print_models():
    rows = []
    for model in (BASE, BIG):
        source, target = source_flops(model), target_flops(model)
        scores = [
            f"{score_flops(model, length) / (source + target):.1%}"
            for length in (32, 128, 256)
        ]
        rows.append(
            [
                model.name,
                f"{num_parameters(model):,}",
                f"{source / 1e6:.1f}",
                f"{target / 1e6:.1f}",
                f"{update_flops(model) / 1e12:.2f}",
                " / ".join(scores),
            ]
        )
    names = ["", "parameters", "MFLOP, source token", "MFLOP, target token"]
    names += ["TFLOP, update", "scores add at 32 / 128 / 256 tokens"]
    print_table("Arithmetic", names, rows)


def print_bytes():
    rows = [
        [model.name, f"{4 * num_parameters(model) / 1e6:.0f} MB"]
        + [f"{ring_bytes(model, n) / 1e6:.0f} MB" for n in (2, 4, 8, 64)]
        for model in (BASE, BIG)
    ]
    names = ["", "gradients", "of 2 replicas", "of 4", "of 8", "of 64"]
    print_table("Sent and received by each replica in an update", names, rows)


def print_memory():
    rows = []
    for model in (BASE, BIG):
        parameters = num_parameters(model)
        rows.append(
            [
                model.name,
                *(f"{n * parameters / GB:.2f} GB" for n in (4, 8, 4, 4)),
                f"{activation_bytes(model) / 1e6:.2f} MB",
                *(
                    f"{n * activation_bytes(model) / GB:.1f} GB"
                    for n in (3125, 25000)
                ),
            ]
        )
    names = ["", "weights", "moments", "gradients", "their sums"]
    names += ["activations of a position", "of 3,125", "of 25,000"]
    print_table("Memory of a replica, float32", names, rows)


def print_p100():
    rows = []
    for model in (BASE, BIG):
        rate = update_flops(model) / 8 / P100.peak
        for link, speed in P100_LINKS.items():
            seconds = ring_bytes(model, 8) / speed
            rest = rate / (model.paper_seconds - seconds)
            rows.append(
                [
                    model.name,
                    link,
                    f"{1000 * seconds:.0f} ms",
                    f"{rate / LIKELY_SHARE + seconds:.2f} s",
                    f"{model.paper_seconds} s",
                    f"{rate / model.paper_seconds:.0%}",
                    f"{rest:.0%}",
                ]
            )
    names = ["", "link", "summing", "step at 40 %", "paper's step"]
    names += ["its share of the peak", "without the summing"]
    print_table("8 P100s", names, rows)


def print_gpus(num_gpus, kind, cases):
    """Prints the times of an update of 25,000 tokens.

    Args:
        num_gpus: Number of GPUs.
        kind: Name of the property in which the cases differ.
        cases: List of (name, network, share of the peak).
    """
    rows = []
    for model in (BASE, BIG):
        for name, network, share in cases:
            case = (model, num_gpus, network, UPDATE_TOKENS, share)
            arithmetic = arithmetic_seconds(model, num_gpus, *case[3:])
            seconds = step_seconds(*case)
            rows.append(
                [
                    model.name,
                    name,
                    f"{1000 * arithmetic:.1f}",
                    f"{1000 * sum_seconds(model, num_gpus, network):.1f}",
                    f"{1000 * optimizer_seconds(model):.1f}",
                    f"{1000 * seconds:.1f}",
                    f"{UPDATE_TOKENS / seconds / 1e6:.2f} M",
                    f"{model.train_steps * seconds / 3600:.2f}",
                ]
            )
    names = ["", kind, "arithmetic, ms", "summing, ms", "Adam, ms"]
    names += ["step, ms", "target tokens/s", "hours"]
    each = UPDATE_TOKENS / num_gpus
    print_table(f"{num_gpus} H100s, {each:,.0f} tokens each", names, rows)


def print_number_of_gpus():
    fast, slow = NETWORKS
    rows = []
    for num_gpus in (1, 2, 4, 8, 16, 32, 64):
        row = [f"{num_gpus}", f"{UPDATE_TOKENS / num_gpus:,.0f}"]
        for model in (BASE, BIG):
            seconds = [arithmetic_seconds(model, num_gpus, UPDATE_TOKENS)]
            seconds += [sum_seconds(model, num_gpus, n) for n in NETWORKS]
            row += [f"{1000 * s:.1f}" for s in seconds]
        rows.append(row)
    names = ["GPUs", "tokens for each"]
    for model in (BASE, BIG):
        names += [f"{model.name}: arithmetic", f"summing, {fast}", slow]
    print_table("Milliseconds of an update of 25,000 at 40 %", names, rows)


def print_update_sizes():
    fast, slow = NETWORKS
    rows = []
    for tokens in (25, 50, 100, 200, 400, 800, 1600):
        row = [f"{1000 * tokens:,}", f"{1000 * tokens / 64:,.0f}"]
        for model in (BASE, BIG):
            arithmetic = arithmetic_seconds(model, 64, 1000 * tokens)
            for network in NETWORKS:
                seconds = step_seconds(model, 64, network, 1000 * tokens)
                row.append(
                    f"{arithmetic / seconds:.0%}, "
                    f"{tokens / 1000 / seconds:.1f} M/s"
                )
        rows.append(row)
    names = ["effective_batch_tokens", "for each"]
    for model in (BASE, BIG):
        names += [f"{model.name}, {fast}", f"{model.name}, {slow}"]
    print_table(
        "64 H100s at 40 %: share of the step that is arithmetic, and target "
        "tokens/s",
        names,
        rows,
    )


if __name__ == "__main__":
    print_models()
    print_bytes()
    print_memory()
    print_p100()
    cases = [(f"{share:.0%}", None, share) for share in SHARES]
    print_gpus(8, "share of the peak", cases)
    cases = [(name, name, LIKELY_SHARE) for name in NETWORKS]
    print_gpus(64, "machines connected by", cases)
    print_number_of_gpus()
    print_update_sizes()
