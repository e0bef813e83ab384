"""A small vocabulary as Tensor2Tensor's SubwordTextEncoder builds them."""

SUBTOKENS = ["the_", "t", "h", "e", "_", "ca", "cat_", "cats_", "dog", "s_"]
SUBTOKENS += [" , _", ", _", "._", " ", ",", ".", "a", "c", "s", "d", "o", "g"]
SUBTOKENS += ["\\", "u", ";", *"0123456789", "n", "'", "\\u_", "3", "é"]
SUBTOKENS += ["<", ">", "p", "E", "O", "S", "_", "ruby", "\\10;_", "▁", "漢"]
# As in every such vocabulary, each character is a subtoken, too.
SUBTOKENS = list(dict.fromkeys([*SUBTOKENS, *"".join(SUBTOKENS)]))


def write_subtokens(path, subtokens=SUBTOKENS, quote="'"):
    """Writes a vocabulary file, by default with single quotes."""
    lines = [f"{quote}{s}{quote}" for s in ["<pad>", "<EOS>", *subtokens]]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(path)
