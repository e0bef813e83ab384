"""The options of decoding, and the flags that change them."""

import pytest

from keras_transformer.hparam import HParams
from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.options import parse_decode_hparams


class DecodeOptionsTest:
    def test_hparams_of_a_run_state_its_options(self):
        hparams = HParams(beam_size=21, alpha=0.3, extra_length=300)
        options = DecodeOptions.from_hparams(hparams)
        assert (options.beam_size, options.alpha) == (21, 0.3)
        assert options.extra_length == 300

    @pytest.mark.parametrize(
        "name, value",
        [
            ("beam_size", 0),
            ("num_hypotheses", 0),
            ("alpha", -0.1),
            ("min_length", -1),
            ("no_repeat_ngram_size", -1),
            ("no_repeat_ngram_size", 101),
            ("temperature", -1.0),
            ("top_k", -1),
            ("top_p", 0.0),
            ("top_p", 1.1),
            ("top_p", 1e-9),
            ("beam_size", 1_001),
            ("num_hypotheses", 1_001),
            ("extra_length", 10_001),
            ("min_length", 10_001),
            ("top_k", 2**31),
            ("alpha", 10.5),
            ("temperature", 1e-9),
            ("temperature", 1e9),
            ("mbr_samples", -1),
            ("mbr_samples", 1),
            ("mbr_samples", 1_001),
        ],
    )
    def test_values_out_of_range_are_errors(self, name, value):
        with pytest.raises(ValueError, match=f"`{name}` must be .*{value}"):
            DecodeOptions(**{name: value})

    @pytest.mark.parametrize(
        "name, values",
        [
            ("beam_size", [1, 1_000]),
            ("num_hypotheses", [1, 1_000]),
            ("extra_length", [0, 10_000]),
            ("temperature", [0, 0.001, 1_000]),
            ("top_p", [1e-6, 1]),
            ("mbr_samples", [0, 2, 1_000]),
        ],
    )
    def test_the_ends_of_ranges_are_allowed(self, name, values):
        for value in values:
            options = DecodeOptions().replace(**{name: value})
            assert getattr(options, name) == value

    def test_a_beam_holds_all_hypotheses(self):
        with pytest.raises(ValueError, match="num_hypotheses=5, beam_size=4"):
            DecodeOptions(num_hypotheses=5)
        assert DecodeOptions(num_hypotheses=5, temperature=1.0).beam_size == 4
        assert DecodeOptions().replace(num_hypotheses=5).beam_size == 5
        with pytest.raises(ValueError, match="num_hypotheses=5, beam_size=3"):
            DecodeOptions().replace(num_hypotheses=5, beam_size=3)

    @pytest.mark.parametrize("value", ["2", 5.5, 1_001])
    def test_a_wrong_number_of_hypotheses_is_named_before_the_beam(self, value):
        with pytest.raises(
            ValueError, match=f"Received: num_hypotheses={value!r}"
        ):
            DecodeOptions().replace(num_hypotheses=value)

    def test_samples_for_minimum_bayes_risk_are_those_of_the_search(self):
        with pytest.raises(ValueError, match="num_hypotheses=5, mbr_samples=4"):
            DecodeOptions(mbr_samples=4, num_hypotheses=5)
        options = DecodeOptions(mbr_samples=32, num_hypotheses=5, top_p=0.9)
        expected = DecodeOptions(num_hypotheses=32, temperature=1.0, top_p=0.9)
        assert options.to_search_options() == expected
        assert expected.to_search_options() == expected
        cold = DecodeOptions(mbr_samples=32, temperature=0.5)
        assert cold.to_search_options().temperature == 0.5

    def test_none_leaves_an_option_unchanged(self):
        options = DecodeOptions(alpha=1.0)
        assert options.replace(alpha=None, beam_size=None) == options


class ParseDecodeHparamsTest:
    def test_pairs_and_flags_are_changes(self):
        changes = parse_decode_hparams(
            "alpha=0.5, num_hypotheses=6", alpha=0.5, beam_size=None
        )
        assert changes == {"alpha": 0.5, "num_hypotheses": 6}
        expected = DecodeOptions(alpha=0.5, num_hypotheses=6, beam_size=6)
        assert DecodeOptions().replace(**changes) == expected

    def test_two_values_of_an_option_are_an_error(self):
        with pytest.raises(ValueError, match="beam_size=2 and --beam_size=3"):
            parse_decode_hparams("beam_size=2", beam_size=3)

    def test_trees_may_be_left_unconstrained(self):
        assert DecodeOptions().constrained
        changes = parse_decode_hparams("constrained=false")
        assert not DecodeOptions().replace(**changes).constrained

    def test_an_unknown_name_gets_close_ones(self):
        with pytest.raises(
            ValueError, match="decode_hparams='temprature'.*mean: temperature"
        ):
            parse_decode_hparams("temprature=1")

    @pytest.mark.parametrize("text", ["beam_size=1001", "temperature=1e9"])
    def test_a_value_out_of_range_is_an_error_at_once(self, text):
        with pytest.raises(ValueError, match=f"must be .*Received: {text[:5]}"):
            parse_decode_hparams(text)

    def test_a_flag_out_of_range_is_an_error_at_once(self):
        with pytest.raises(ValueError, match="`beam_size` must be from 1 to"):
            parse_decode_hparams("", beam_size=9_999)

    def test_a_wrong_type_is_an_error(self):
        with pytest.raises(ValueError, match="`top_k` must be an integer"):
            parse_decode_hparams("top_k=many")
