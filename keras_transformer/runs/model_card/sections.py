"""The sections of a model card, as Markdown."""

import dataclasses

from keras_transformer.bleu import bleu_report
from keras_transformer.problem import Problem
from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import scores
from keras_transformer.trees.target_text import linearization_of

# The scores that a table shows, and how they are written.
SCORES = {"bleu": "BLEU", "chrf": "chrF2", "f1": "F1", "exact_match": "exact"}

_TRANSLATING = [
    "A translation can be wrong and read well: words left out or added, names, "
    "numbers and negations changed. Nothing is guaranteed; let somebody check "
    "what matters. What is unfair or offensive in the data can come out again.",
    "Each input is one sentence, translated without those around it. A "
    "translation may end unfinished at the greatest length.",
]
_PARSING = [
    "A tree is always well-formed and over the words of the sentence; nothing "
    "says that it is right. A sentence without a sense gets a tree as well.",
    "Each input is one sentence of English, split into words as the Penn "
    "Treebank has them.",
]


def training_pairs(data):
    """The number of training pairs, or None where it is not known."""
    return data and f"{data['splits']['train']['pairs']:,}"


def decode_of(run):
    """How a run decodes, unless it is told otherwise."""
    names = ("beam_size", "alpha", "extra_length")
    return {name: getattr(run.hparams, name) for name in names}


def decoding_words(decode):
    """What a dictionary of `DecodeOptions` says, in a few words."""
    shown = {
        "beam_size": "beam",
        "alpha": "alpha",
        "num_hypotheses": "hypotheses",
        "min_length": "at least tokens",
        "temperature": "temperature",
        "top_k": "top-k",
        "top_p": "top-p",
    }
    usual = {"num_hypotheses": 1, "min_length": 0, "temperature": 0.0}
    usual.update(top_k=0, top_p=1.0)
    return ", ".join(
        f"{word} {decode[name]:g}"
        for name, word in shown.items()
        if name in decode and decode[name] != usual.get(name)
    )


def data_section(run, data):
    """What the model learned from, `data` as `facts.data_of` returns it."""
    if not data:
        return (
            "The counts of the data are not in the run's directory, nor is "
            f"the generated data of the problem `{run.problem_name}` at hand."
        )
    rows = [
        (
            split,
            f"{counts['pairs']:,}",
            f"{counts['source_tokens']:,}",
            f"{counts['target_tokens']:,}",
        )
        for split, counts in data["splits"].items()
    ]
    head = ("Split", "Pairs", "Source tokens", "Target tokens")
    text = table(head, rows, numbers=True) + (
        "\n\nTokens are subwords, with the end of each sentence. Pairs of more "
        f"than {run.hparams.max_length} tokens on a side were left out of "
        "training. SHA-256 of the vocabulary: "
        f"`{run.vocabulary.sha256}`."
    )
    if data["files"]:
        files = [(f["name"], f["sha256"][:16]) for f in data["files"]]
        rows = [(code(name), code(start)) for name, start in files]
        text += "\n\n" + table(("File", "SHA-256 begins with"), rows)
    return text


def scores_section(run, step, training, extra):
    """How good the model is: while it was trained, and by kt-evaluate."""
    parts = []
    if "dev" in training:
        rows = [(_metric(n), f"{v:.4g}") for n, v in training["dev"].items()]
        parts.append(
            f"On dev, at update {training['dev_step']:,}, as the training "
            "measured it with greedy translations:"
        )
        parts.append(table(("Metric", "Value"), rows, numbers=True))
        parts += _dev_signatures(run) + _best(run, step)
    entries = [
        (split, entry)
        for split, held in scores.read_scores(run).items()
        for entry in held
        if entry["step"] == step or not extra
    ]
    if entries:
        names = [name for name in entries[0][1] if name in SCORES]
        rows = [
            (
                split,
                f"{entry['num_pairs']:,}",
                f"{entry['step']:,}",
                decoding_words(entry["decode"]),
                *(f"{entry[name]:.2f}" for name in names if name in entry),
            )
            for split, entry in entries
        ]
        head = ("Split", "Pairs", "Updates", "Decoding", *map(_metric, names))
        lines = [
            f"{split}: {line}"
            for split, entry in entries
            for line in entry["lines"]
        ]
        parts.append("By `kt-evaluate`:")
        parts.append(table(head, rows, numbers=True))
        parts.append("In full, with the signatures:")
        parts.append(_block(lines))
    if not parts:
        return (
            "None yet: `kt-evaluate --output_dir=RUN --split=test` adds them."
        )
    if extra.get("format"):
        parts.append(
            "These are scores of the run this model was exported from, in "
            "float32; they were not measured again in this form."
        )
    return "\n\n".join(parts)


def _dev_signatures(run):
    """The signatures of BLEU and chrF, where the problem scores with them."""
    problem = facts.problem_of(run)
    if problem is None or problem.measure != Problem.measure:
        return []
    lines = bleu_report(["a"], ["a"]).text.splitlines()
    return ["Signatures of sacreBLEU:", _block(map(scores.signature, lines))]


def _best(run, step):
    best = run.checkpoints.best_step
    if best in (None, step):
        return []
    return [
        "The best on dev of the checkpoints that are kept is that of update "
        f"{best:,}; `--checkpoint_step=best` chooses it."
    ]


def _block(lines):
    return "\n".join(["```text", *lines, "```"])


def _metric(name):
    return SCORES.get(name, name)


def limits_section(run, data, extra):
    """What the model cannot do, and what nobody promises."""
    hparams = run.hparams
    decode = extra.get("decode") or decode_of(run)
    pairs = training_pairs(data)
    learned = f"{pairs} pairs of sentences" if pairs else "its training data"
    limits = [
        f"It knows what {learned} of `{run.problem_name}` taught it. On other "
        "subjects and styles expect worse: scores on text like that of the "
        "training say nothing about them.",
    ]
    limits += _PARSING if linearization_of(run.vocabulary) else _TRANSLATING
    limits += [
        "In training no input had more than "
        f"{hparams.max_length} tokens; longer ones are taken, but worse done.",
        f"An output ends at {decode.get('extra_length', 50)} tokens more than "
        "its input has.",
        "Characters that are not in the vocabulary are spelled in bytes, which "
        "the model has hardly seen.",
        "The licence of the data may restrict what the model can be used for.",
    ]
    return "\n".join(f"- {limit}" for limit in limits)


def hparams_section(run):
    """The differences from the hparams set, then all values."""
    name = run.record.get("hparams_set")
    changed = facts.changed_hparams(run)
    if changed is None:
        text = f"The set `{name}` is not registered here; these are the values."
    elif not changed:
        text = f"Those of the set `{name}`, without a change."
    else:
        rows = [tuple(map(code, row)) for row in changed]
        text = f"The set `{name}`, with these changes:\n\n"
        text += table(("Name", "Here", "In the set"), rows)
    rows = [
        (code(name), code(value))
        for name, value in dataclasses.asdict(run.hparams).items()
    ]
    return f"{text}\n\nAll of them:\n\n{table(('Name', 'Value'), rows)}"


def table(head, rows, numbers=False):
    """Returns a Markdown table; `numbers` puts all but names at the right."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    lines = [head, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(value):
    """Returns a value as code; what would end a cell of a table is escaped."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "`" + text.replace("`", "'").replace("|", "\\|") + "`"
