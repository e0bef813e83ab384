"""A vocabulary and a model as Tensor2Tensor makes them."""

import random
import re
import unicodedata

import numpy as np

SUBTOKENS = ["the_", "t", "h", "e", "_", "ca", "cat_", "cats_", "dog", "s_"]
SUBTOKENS += [" , _", ", _", "._", " ", ",", ".", "a", "c", "s", "d", "o", "g"]
SUBTOKENS += ["\\", "u", ";", *"0123456789", "n", "'", "\\u_", "3", "é"]
SUBTOKENS += ["<", ">", "p", "E", "O", "S", "_", "ruby", "\\10;_", "▁", "漢"]
# As in every such vocabulary, each character is a subtoken, too.
SUBTOKENS = list(dict.fromkeys([*SUBTOKENS, *"".join(SUBTOKENS)]))
TEXTS = [
    "",
    " ",
    "  ",
    "the cats",
    "the cat , the dogs.",
    " the  cat ",
    "cat\tdog\nthe",
    "a_b \\_ \\u \\\\ \\65; __",
    "漢字 é e\u0301 🙂 \u00a0x",
    "▁the▁cat",
    "½ ² Ⅷ ٣ 〇",
    "<pad> <EOS> </s> <unk> <tensor2tensor>",
    "the" * 300,
    "don't",
    "\x00 \x7f",
]


def make_random_texts():
    """Returns hostile texts and a thousand of random characters."""
    generator = random.Random(4)
    characters = sorted({*"".join(TEXTS + SUBTOKENS)})
    return TEXTS + [
        "".join(generator.choices(characters, k=generator.randint(1, 25)))
        for _ in range(1000)
    ]


def write_subtokens(path, subtokens=SUBTOKENS, quote="'"):
    """Writes a vocabulary file, by default with single quotes."""
    lines = [f"{quote}{s}{quote}" for s in ["<pad>", "<EOS>", *subtokens]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)


class PublishedRules:
    """Encodes and decodes character by character; ids are those of the file."""

    def __init__(self, subtokens=SUBTOKENS):
        self._subtokens = subtokens
        self._ids = {s: id_ for id_, s in enumerate(subtokens, 2) if s}
        self._sizes = range(max(map(len, self._ids)), 0, -1)
        characters = {*"<pad><EOS>\\_u;0123456789", *"".join(subtokens)}
        self._alphabet = characters - {"\n"}

    def encode(self, text):
        """Returns ids; None where there is no subtoken for a character."""
        ids, sizes, alphabet = self._ids, self._sizes, self._alphabet
        words = [unicodedata.category(c)[0] in ("L", "N") for c in text]
        spelled, encoded = "", []
        for i, character in enumerate(text):
            is_start = i == 0 or words[i - 1] != words[i]
            is_end = i == len(text) - 1 or words[i + 1] != words[i]
            is_inside = 0 < i < len(text) - 1
            if character == " " and is_start and is_end and is_inside:
                continue  # a single space between two words
            if character == "\\":
                spelled += "\\\\"
            elif character == "_":
                spelled += "\\u"
            elif character in alphabet:
                spelled += character
            else:
                spelled += "\\" + str(ord(character)) + ";"
            if is_end:
                spelled += "_"
                while spelled:
                    size = next((n for n in sizes if spelled[:n] in ids), None)
                    if size is None:
                        return None
                    encoded.append(ids[spelled[:size]])
                    spelled = spelled[size:]
        return encoded

    def decode(self, ids):
        joined = "".join(self._subtokens[id_ - 2] for id_ in ids)
        text, was_word = "", False
        for token in joined.split("_"):
            place, characters = 0, ""
            while place < len(token):
                rest = token[place:]
                number = re.match(r"\\([0-9]+);", rest)
                if rest.startswith("\\\\"):
                    place, characters = place + 2, characters + "\\"
                elif rest.startswith("\\u"):
                    place, characters = place + 2, characters + "_"
                elif number:
                    place += number.end()
                    try:
                        characters += chr(int(number[1]))
                        characters.encode()
                    except (ValueError, OverflowError):
                        characters = characters.rstrip("\ud800-\udfff") + "〓"
                else:
                    place, characters = place + 1, characters + rest[0]
            if not characters:
                continue
            is_word = unicodedata.category(characters[0])[0] in ("L", "N")
            text += " " * (is_word and was_word) + characters
            was_word = is_word
        return text


RELATIVE = "dot_product_attention_relative/relative_positions"


def make_variables(norm, num_rows, shared=True, relative=0, d_model=8, depth=2):
    """Returns random variables with the names of Tensor2Tensor's model.

    `norm` is "post", as in transformer_base_v1, or "pre", as in v2 and v3.
    `relative` is the largest distance of relative positions, 0 for none.
    """
    generator = np.random.default_rng(1)
    variables = {}

    def add(name, *shape, mean=0.0):
        values = mean + generator.normal(0.0, 0.5, shape)
        variables[f"transformer/{name}"] = values.astype("float32")

    for scope in (
        ["shared"] if shared else ["input_emb", "target_emb", "softmax"]
    ):
        # In parts, of which the first ones have a row more.
        for part in range(4):
            rows = num_rows // 4 + (part < num_rows % 4)
            symbols = f"symbol_modality_{num_rows}_{d_model}"
            add(f"{symbols}/{scope}/weights_{part}", rows, d_model)
    add("body/target_space_embedding/kernel", 32, d_model)
    processed = "layer_prepostprocess" if norm == "pre" else "layer_postprocess"
    for side in ("encoder", "decoder"):
        for number in range(depth):
            layer = f"body/{side}/layer_{number}"
            kinds = ["self_attention", "encdec_attention", "ffn"]
            for kind in kinds if side == "decoder" else kinds[::2]:
                place = f"{layer}/{kind}/{processed}/layer_norm/layer_norm"
                add(f"{place}_scale", d_model, mean=1.0)
                add(f"{place}_bias", d_model)
                if kind == "ffn":
                    add(f"{layer}/ffn/conv1/kernel", d_model, 12)
                    add(f"{layer}/ffn/conv1/bias", 12)
                    add(f"{layer}/ffn/conv2/kernel", 12, d_model)
                    add(f"{layer}/ffn/conv2/bias", d_model)
                    continue
                attention = f"{layer}/{kind}/multihead_attention"
                for name in ("q", "k", "v", "output_transform"):
                    add(f"{attention}/{name}/kernel", d_model, d_model)
                for name in ("keys", "values"):
                    if relative and kind == "self_attention":
                        place = f"{attention}/{RELATIVE}_{name}/embeddings"
                        add(place, 2 * relative + 1, d_model // 2)
        if norm == "pre":
            place = f"body/{side}/layer_prepostprocess/layer_norm/layer_norm"
            add(f"{place}_scale", d_model, mean=1.0)
            add(f"{place}_bias", d_model)
    return variables


def write_checkpoint(prefix, variables):
    """Writes variables as TensorFlow 1 does, with an optimizer's arrays."""
    arrays = {"global_step": np.int64(7), **variables}
    for name, values in variables.items():
        arrays[f"training/{name}/Adam"] = np.zeros_like(values)
        arrays[f"training/{name}/Adam_1"] = np.zeros_like(values)
    space = "training/transformer/body/target_space_embedding/kernel/Adam_1"
    if space in arrays:
        arrays[space][3] = 0.1  # the kind of targets that was trained
    write_variables(prefix, arrays)


def write_variables(prefix, arrays):
    """Writes a checkpoint of these arrays alone."""
    import tensorflow as tf

    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(arrays),
        shape_and_slices=[""] * len(arrays),
        tensors=[tf.constant(values) for values in arrays.values()],
    )


class NumpyTransformer:
    """Computes the logits of Tensor2Tensor's model, one sentence at a time.

    Written from the published description of its layers, in float64.
    """

    def __init__(self, variables, norm, num_heads, space):
        self.variables = variables
        self.norm = norm
        self.num_heads = num_heads
        self.space = self.get("body/target_space_embedding/kernel")[space]

    def get(self, name):
        return self.variables[f"transformer/{name}"].astype("float64")

    def get_embeddings(self, scope):
        scopes = {name.split("/")[2] for name in self.variables}
        scope = "shared" if "shared" in scopes else scope
        names = [n for n in self.variables if f"/{scope}/weights_" in n]
        names.sort(key=lambda name: int(name.rpartition("_")[2]))
        return np.concatenate([self.variables[n] for n in names]).astype("f8")

    def compute_logits(self, inputs, targets):
        """Computes `(target_len, vocab_size)` from lists of ids."""
        x = self.embed("input_emb", inputs) + self.space
        x = self.add_positions(x)
        encoded = self.run_stack("encoder", x)
        # The decoder reads a zero vector, and then all targets but the last.
        y = self.embed("target_emb", targets)
        y = np.concatenate([np.zeros_like(y[:1]), y[:-1]])
        y = self.add_positions(y)
        decoded = self.run_stack("decoder", y, encoded)
        return decoded @ self.get_embeddings("softmax").T

    def add_positions(self, x):
        if any(RELATIVE in name for name in self.variables):
            return x
        return x + make_timing_signal(*x.shape)

    def embed(self, scope, ids):
        vectors = self.get_embeddings(scope)[ids]
        return vectors * vectors.shape[1] ** 0.5

    def run_stack(self, side, x, encoded=None):
        depth = sum(
            name.startswith(f"transformer/body/{side}/layer_")
            and name.endswith("ffn/conv1/kernel")
            for name in self.variables
        )
        for number in range(depth):
            layer = f"body/{side}/layer_{number}"
            x = self.run_sublayer(
                f"{layer}/self_attention",
                x,
                lambda place, y: self.attend(place, y, y, side == "decoder"),
            )
            if encoded is not None:
                x = self.run_sublayer(
                    f"{layer}/encdec_attention",
                    x,
                    lambda place, y: self.attend(place, y, encoded, False),
                )
            x = self.run_sublayer(f"{layer}/ffn", x, self.feed_forward)
        return self.normalise(f"body/{side}", x) if self.norm == "pre" else x

    def run_sublayer(self, place, x, function):
        if self.norm == "pre":
            return x + function(place, self.normalise(place, x))
        return self.normalise(place, x + function(place, x))

    def normalise(self, place, x):
        scope = "prepost" if self.norm == "pre" else "post"
        name = f"{place}/layer_{scope}process/layer_norm/layer_norm"
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-6)
        return x * self.get(f"{name}_scale") + self.get(f"{name}_bias")

    def feed_forward(self, place, x):
        hidden = x @ self.get(f"{place}/conv1/kernel")
        hidden = np.maximum(hidden + self.get(f"{place}/conv1/bias"), 0.0)
        outputs = hidden @ self.get(f"{place}/conv2/kernel")
        return outputs + self.get(f"{place}/conv2/bias")

    def attend(self, place, x, memory, is_causal):
        attention = f"{place}/multihead_attention"
        query = x @ self.get(f"{attention}/q/kernel")
        key = memory @ self.get(f"{attention}/k/kernel")
        value = memory @ self.get(f"{attention}/v/kernel")
        outputs = []
        for q, k, v in zip(
            *(np.split(a, self.num_heads, axis=1) for a in (query, key, value))
        ):
            vectors = self.list_relative(attention, len(q))
            q = q * q.shape[1] ** -0.5
            scores = q @ k.T
            if vectors:
                scores += np.einsum("qd,qkd->qk", q, vectors[0])
            if is_causal:
                scores += np.triu(np.full(scores.shape, -1e9), 1)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            outputs.append(weights @ v)
            if vectors:
                outputs[-1] += np.einsum("qk,qkd->qd", weights, vectors[1])
        joined = np.concatenate(outputs, axis=1)
        return joined @ self.get(f"{attention}/output_transform/kernel")

    def list_relative(self, attention, length):
        """Returns the vectors of each pair, for keys and for values."""
        place = f"{attention}/{RELATIVE}"
        if f"transformer/{place}_keys/embeddings" not in self.variables:
            return []
        distances = np.arange(length) - np.arange(length)[:, None]
        tables = [
            self.get(f"{place}_{n}/embeddings") for n in ("keys", "values")
        ]
        limit = len(tables[0]) // 2
        return [t[np.clip(distances, -limit, limit) + limit] for t in tables]


def make_timing_signal(length, channels):
    """Makes sines, then cosines, of wavelengths from 1 to 10000 times 2 pi."""
    count = channels // 2
    scales = np.exp(-np.log(1e4) / max(count - 1, 1) * np.arange(count))
    angles = np.outer(np.arange(length), scales)
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
