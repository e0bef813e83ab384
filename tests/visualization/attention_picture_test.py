import warnings

import numpy as np
import pytest
from attention_examples import random_attention

from keras_transformer.visualization.attention_picture import (
    write_attention_picture,
)

TOKENS = ["▁the", "▁cat", "(end)"]


def draw(path, attention, kind="cross"):
    from matplotlib.image import imread

    write_attention_picture(attention, str(path), kind)
    return imread(path)


class WriteAttentionPictureTest:
    def test_it_grows_with_layers_heads_and_tokens(self, tmp_path):
        path = tmp_path / "picture.png"
        small = draw(path, random_attention(TOKENS, TOKENS, 1, 1)).shape
        tall = draw(path, random_attention(TOKENS, TOKENS, 3, 1)).shape
        wide = draw(path, random_attention(TOKENS, TOKENS, 1, 3)).shape
        many = draw(path, random_attention(TOKENS * 10, TOKENS, 1, 1)).shape
        assert tall[0] > 1.5 * small[0] and tall[1] == small[1]
        assert wide[1] > 1.5 * small[1] and wide[0] == small[0]
        assert many[1] > small[1]

    def test_a_shallow_decoder_has_fewer_rows_than_its_encoder(self, tmp_path):
        attention = random_attention(TOKENS, TOKENS, 3, 1, decoder_depth=1)
        path = tmp_path / "picture.png"
        deep = draw(path, attention, "encoder").shape
        assert deep[0] > 1.5 * draw(path, attention, "cross").shape[0]

    @pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
    def test_other_weights_give_another_picture(self, tmp_path, kind):
        attention = random_attention(TOKENS, ["▁die", "(end)"])
        before = draw(tmp_path / "a.png", attention, kind)
        turned = getattr(attention, kind)[:, ::-1]
        after = draw(
            tmp_path / "b.png", attention._replace(**{kind: turned}), kind
        )
        assert np.any(before != after)

    def test_any_text_can_be_a_label(self, tmp_path):
        tokens = ["$\\frac{$", "狗", "الكلب", "_^{", "\n", "x" * 300, "(end)"]
        attention = random_attention(tokens, tokens)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            picture = draw(tmp_path / "picture.png", attention)
        assert picture.shape[1] < 3000

    def test_a_long_sentence_has_a_picture_of_bounded_size(self, tmp_path):
        tokens = ["▁word"] * 200
        attention = random_attention(tokens, tokens, 1, 2)
        picture = draw(tmp_path / "picture.png", attention)
        assert max(picture.shape[:2]) < 3000

    @pytest.mark.parametrize(
        "kind, is_hatched", [("decoder", True), ("cross", False)]
    )
    def test_masked_tokens_are_hatched(self, tmp_path, kind, is_hatched):
        path = tmp_path / "picture.svg"
        write_attention_picture(
            random_attention(TOKENS, TOKENS, 1, 1), str(path), kind
        )
        assert ("<pattern" in path.read_text()) == is_hatched

    @pytest.mark.parametrize("num_tokens, num_labels", [(10, 1), (60, 3)])
    def test_the_maps_of_a_large_picture_have_their_own_labels(
        self, tmp_path, num_tokens, num_labels
    ):
        path = tmp_path / "picture.svg"
        target = [f"▁word-{i}" for i in range(num_tokens)]
        attention = random_attention(["▁a"] * num_tokens, target, 1, 3)
        write_attention_picture(attention, str(path))
        assert path.read_text().count("<!-- word-0 -->") == num_labels

    @pytest.mark.slow
    def test_many_heads_have_a_picture_that_can_be_drawn(self, tmp_path):
        tokens = ["▁word"] * 70
        attention = random_attention(tokens, tokens, 1, 64)
        picture = draw(tmp_path / "picture.png", attention)
        assert picture.shape[1] <= 20000

    def test_a_missing_folder_is_an_error(self, tmp_path):
        attention = random_attention(TOKENS, TOKENS)
        with pytest.raises(ValueError, match="directory does not exist"):
            draw(tmp_path / "missing" / "picture.png", attention)
