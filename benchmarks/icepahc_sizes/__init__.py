"""IcePaHC with fewer trees in train, for a learning curve.

`icepahc` in `--tmp_dir` holds the files of the treebank:

    for size in 5000 20000 50000; do
        kt-trainer --usr_dir=benchmarks/icepahc_sizes --generate_data \\
            --problem=parsing_icelandic$size --data_dir=data --tmp_dir=. \\
            --output_dir=sizes/$size --hparams_set=transformer_parsing_small \\
            --hparams=span_labels=80,warmup_steps=400,decay_steps=2500 \\
            --train_steps=2500 --eval_frequency=2500
    done
    kt-plot sizes/* --x_axis=pairs --metric=dev_f1 --picture=icepahc.png
"""

from keras_transformer.problems.parsing import ParsingIcelandic
from keras_transformer.registry import register_variant

SIZES = (5_000, 10_000, 20_000, 50_000)


class FewerTrees(ParsingIcelandic):
    """Takes `size` trees of train, at equal distances, and all of dev."""

    vocab_size = 6000
    size: int

    def trees(self, split, tmp_dir):
        trees = super().trees(split, tmp_dir)
        if split != "train":
            yield from trees
            return
        total = sum(1 for _ in super().trees(split, tmp_dir))
        for number, tree in enumerate(trees, 1):
            if number * self.size % total < self.size:
                yield tree


for size in SIZES:
    register_variant(
        f"parsing_icelandic{size}", FewerTrees, f"{size:,} trees.", size=size
    )
