"""Writes the table of Tensor2Tensor's sets and problems into its page.

    python docs/site/names.py

The registry tells which names are registered here, which have another name, and
why the others are left out.
"""

import re

from reference_pages import ROOT

from keras_transformer import registry
from keras_transformer.files.markdown import code
from keras_transformer.files.markdown import table
from keras_transformer.hparams import tensor2tensor

PAGE = ROOT / "docs/tutorials/coming_from.md"
TITLE = "## Hparams sets and problems\n"
# All names for text of version 1.15, and examples of the others.
SETS = """
transformer_base_{v1,v2,v3,single_gpu,multistep8}
transformer_big_{single_gpu,dr1,dr2}
transformer_clean{,_big} transformer_test
transformer_{l2,l4,l8,l10,h1,h4,h16,h32,k128,k256,ff1024,ff4096,hs256,hs1024}
transformer_{dr0,dr2,ls0,ls2}
transformer_parsing_{base,big,ice}
transformer_{,packed_,big_,big_enfr_,clean_big_,small_,tiny_}tpu
transformer_base transformer_{big,big_enfr,small,tiny}
transformer_relative{,_tiny,_big}
transformer_tall
transformer_librispeech transformer_moe_base transformer_cifar10_memory_v0
transformer_tpu_1b imagetransformer_base rlmb_base
universal_transformer_base transformer_cubbitt
"""
PROBLEMS = """
translate_{ende,enes}_wmt{32k,8k,32k_packed,8k_packed}
translate_enfr_wmt{32k,8k,32k_packed,_small32k,_small8k}
translate_{enro,enzh}_wmt{32k,8k} translate_{encs,enet}_wmt32k
translate_{envi,enid}_iwslt32k translate_enmk_setimes32k translate_entn_rma
algorithmic_{identity,reverse,addition,multiplication}_{binary40,decimal40}
algorithmic_{shift_decimal40,reverse_nlplike8k,sort_problem}
parsing_{english_ptb8k,english_ptb16k,icelandic16k} wsj_parsing
translate_ende_wmt_characters
translate_ende_wmt_{clean32k,pc32k,multi64k} translate_encs_cubbitt
text2text_tmpdir dialog_cornell32k
languagemodel_lm1b32k summarize_cnn_dailymail32k sentiment_imdb squad
image_cifar10 librispeech video_moving_mnist
"""


def make_page(page):
    """Returns the text of the page with a table made anew below its title."""
    before, title, after = page.partition(TITLE)
    text, _, rest = after.partition("\n| ")
    rest = rest[rest.index("\n\n") :]
    return f"{before}{title}{text}\n{make_table()}{rest}"


def make_table():
    rows = []
    for entries, names in (
        (registry.hparams_sets, SETS),
        (registry.problems, PROBLEMS),
    ):
        groups, left_out = {}, {}
        for pattern in names.split():
            (place,) = {find_place(entries, name) for name in expand(pattern)}
            purpose = re.fullmatch("is for (.*?)(?:, which .*)?", place)
            if purpose:
                left_out[purpose[1]] = pattern
            else:
                groups.setdefault(place, []).append(code(pattern))
        rows += [(" ".join(each), place) for place, each in groups.items()]
        rows.append((f"what is for {', '.join(left_out)}", "left out"))
    return table(["tensor2tensor", "here"], rows)


def expand(pattern):
    """Returns the names that a pattern with braces stands for."""
    match = re.fullmatch(r"(.*?)\{(.*?)\}(.*)", pattern)
    if not match:
        return [pattern]
    return [
        name
        for part in match[2].split(",")
        for name in expand(match[1] + part + match[3])
    ]


def find_place(entries, name):
    """Returns where a name of Tensor2Tensor is, or why it is left out."""
    if name not in entries.names():
        return entries.find_refusal(name)
    short = name.removeprefix("transformer_")
    if entries is registry.problems or short in tensor2tensor.SETS:
        return "the same name"
    theirs = "base_v3" if short == "base" else f"{short}_t2t"
    registry.get_hparams(f"transformer_{theirs}")
    if short == "base":
        return f"{code('transformer_base_v3')}; ours is the paper's, post-norm"
    return "with `_t2t` at its end; ours is post-norm"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(make_page(page), encoding="utf-8")
