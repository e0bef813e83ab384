import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.errors import UserError
from keras_transformer.hparam import HParams
from keras_transformer.hparam import from_dict
from keras_transformer.hparam import parse_overrides

ANY_VALUES = st.fixed_dictionaries(
    {},
    optional={
        "num_layers": st.integers(1, 1000),
        "d_ff": st.integers(1, 100_000),
        "norm": st.sampled_from(["pre", "post"]),
        "packed": st.booleans(),
        "dropout": st.floats(0, 0.99),
        "alpha": st.floats(0, 10),
        "learning_rate": st.floats(1e-6, 10),
        "adam_epsilon": st.floats(1e-12, 0.1),
        "train_steps": st.integers(1, 10**6),
    },
)


class HParamsTest:
    def test_defaults_are_the_papers_base_model(self):
        hparams = HParams()
        assert hparams.num_layers == 6
        assert hparams.d_model == 512
        assert hparams.d_ff == 2048
        assert hparams.num_heads == 8
        assert hparams.dropout == 0.1
        assert hparams.label_smoothing == 0.1
        assert hparams.warmup_steps == 4000
        assert (hparams.adam_beta1, hparams.adam_beta2) == (0.9, 0.98)
        assert hparams.adam_epsilon == 1e-9
        assert (hparams.beam_size, hparams.alpha) == (4, 0.6)
        assert hparams.extra_length == 50

    def test_is_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            HParams().d_model = 1

    def test_integer_becomes_a_float_in_a_float_field(self):
        dropout = HParams(dropout=0).dropout
        assert type(dropout) is float

    def test_a_number_of_numpy_becomes_one_of_python(self):
        hparams = HParams(num_layers=np.int64(2), alpha=np.float32(0.5))
        assert (hparams.num_layers, hparams.alpha) == (2, 0.5)
        assert type(hparams.num_layers) is int
        assert type(hparams.alpha) is float
        assert from_dict(json.loads(to_json(hparams))) == hparams

    def test_a_float_of_numpy_is_no_integer(self):
        with pytest.raises(ValueError, match="`num_layers` must be an integer"):
            HParams(num_layers=np.float64(2))

    @pytest.mark.parametrize(
        "changes",
        [
            {"num_layers": 0},
            {"d_model": -512},
            {"batch_tokens": 0},
            {"train_steps": 0},
            {"beam_size": 0},
            {"d_k": -1},
            {"alpha": -0.1},
            {"extra_length": -1},
            {"dropout": 1.0},
            {"dropout": -0.1},
            {"label_smoothing": 1},
            {"adam_beta2": 1.0},
            {"learning_rate": 0.0},
            {"learning_rate": float("nan")},
            {"learning_rate": float("inf")},
            {"norm": "Post"},
            {"positional_encoding": "rotary"},
            {"initializer": "he"},
            {"d_model": 512.0},
            {"num_layers": True},
            {"num_layers": "6"},
            {"norm": None},
            {"optimizer": "sgd"},
            {"optimizer": "Adam"},
            {"consistency": "rdrop"},
            {"consistency_weight": -1.0},
            {"token_cutoff": 1.0},
            {"guided_alignment": -1.0},
            {"span_labels": -1},
            {"span_labels": 10_001},
            {"weight_decay": -0.1},
            {"gradient_clip_norm": -1.0},
            {"ema_decay": 1.0},
            {"ema_decay": -0.1},
            {"effective_batch_tokens": -1},
            {"packed": 1},
            {"packed": "true"},
            {"num_layers": 1_001},
            {"d_model": 4_000_000},
            {"num_heads": 1_001},
            {"d_ff": 2**31},
            {"d_ff": 10**5000},
            {"max_length": 2**31},
            {"batch_tokens": 2**31},
            {"train_steps": 2**31},
            {"beam_size": 1_001},
            {"extra_length": 10_001},
            {"alpha": 11.0},
            {"adam_beta1": 0.99999999},
            {"dropout": 1 - 1e-9},
            {"subword_dropout": 1.0},
            {"source_noise": 1.1},
            {"adam_epsilon": 1e-50},
            {"learning_rate": 1e30},
            {"gradient_clip_norm": 10**400},
        ],
    )
    def test_error_names_the_bad_value(self, changes):
        name, value = next(iter(changes.items()))
        with pytest.raises(ValueError) as error:
            HParams(**changes)
        message = str(error.value)
        assert f"`{name}` must be " in message
        assert f"Received: {name}=" in message
        assert "Use a value such as " in message
        assert "\n" not in message
        assert type(value) is not str or repr(value) in message
        assert len(message) < 200

    @pytest.mark.parametrize(
        "changes",
        [
            {"packed": True},
            {"subword_dropout": 0.1},
            {"source_noise": 0.1},
            {"consistency": "simcut"},
        ],
    )
    @pytest.mark.parametrize(
        "guide", [{"guided_alignment": 0.1}, {"span_labels": 3}], ids=str
    )
    def test_guidance_needs_the_stored_tokens(self, guide, changes):
        assert HParams(**guide) and HParams(**changes)
        (name,), (other,) = guide, changes
        message = f"`{name}` must be 0 with `{other}`"
        with pytest.raises(ValueError, match=message):
            HParams(**guide, **changes)

    def test_a_training_has_one_kind_of_guidance(self):
        with pytest.raises(ValueError, match="span_labels=3, guided_align"):
            HParams(guided_alignment=0.1, span_labels=3)

    def test_sinusoids_need_an_even_width(self):
        with pytest.raises(ValueError, match="d_model=15. .*learned"):
            HParams(d_model=15, num_heads=3)
        hparams = HParams(
            d_model=15, num_heads=3, positional_encoding="learned"
        )
        assert hparams.d_model == 15

    def test_heads_must_divide_the_width(self):
        with pytest.raises(
            ValueError, match="d_model=512, num_heads=6.*such as 4, or"
        ):
            HParams(num_heads=6)

    def test_heads_with_their_own_dimensions_need_not_divide_the_width(self):
        assert HParams(num_heads=6, d_k=64, d_v=64).num_heads == 6

    def test_both_dimensions_must_be_set_then(self):
        with pytest.raises(ValueError, match="d_model=512, num_heads=6"):
            HParams(num_heads=6, d_k=64)

    @pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
    def test_weight_decay_is_allowed_with_these_optimizers(self, optimizer):
        assert HParams(optimizer=optimizer, weight_decay=0.1).weight_decay

    def test_r_drop_without_dropout_is_an_error(self):
        assert HParams(consistency="r_drop", dropout=0.0, attention_dropout=0.1)
        with pytest.raises(ValueError, match="dropout=0.0.*=simcut"):
            HParams(consistency="r_drop", dropout=0.0)

    def test_weight_decay_that_would_be_ignored_is_an_error(self):
        with pytest.raises(
            ValueError, match="weight_decay=0.1, optimizer='adam'.*adamw"
        ):
            HParams(weight_decay=0.1)

    @pytest.mark.parametrize("tokens", [0, 100, 4096, 25000])
    def test_an_update_may_be_smaller_or_larger_than_a_batch(self, tokens):
        hparams = HParams(batch_tokens=4096, effective_batch_tokens=tokens)
        assert hparams.effective_batch_tokens == tokens


class SubclassTest:
    """Fields of a user's class that never reaches a registry."""

    @pytest.fixture
    def make(self, monkeypatch):
        monkeypatch.setattr(HParams, "subclasses", [])

        def make(kind, default):
            field = ("extra", kind, dataclasses.field(default=default))
            options = {"bases": (HParams,), "frozen": True}
            return dataclasses.make_dataclass("Mine", [field], **options)

        return make

    @pytest.mark.parametrize("kind", [list, tuple[int, ...], "list[int]"])
    def test_a_field_that_no_text_can_state_is_refused(self, make, kind):
        cls = make(kind, (1,))
        for use in (cls, lambda: parse_overrides(cls(), "extra=1")):
            with pytest.raises(UserError, match="fields of Mine .*: extra: "):
                use()

    @pytest.mark.parametrize("kind", [int, "int"])
    def test_a_type_may_be_given_by_its_name(self, make, kind):
        hparams = parse_overrides(make(kind, 1)(), "extra=2")
        assert hparams.extra == 2
        assert hparams.model.extra == 2
        with pytest.raises(UserError, match="`extra` must be an integer"):
            make(kind, 1)(extra="much")


class ParseOverridesTest:
    def test_values_take_the_type_of_their_field(self):
        hparams = parse_overrides(
            HParams(), "num_layers=2,dropout=0,norm=pre,adam_epsilon=1e-8"
        )
        assert hparams == HParams(
            num_layers=2, dropout=0.0, norm="pre", adam_epsilon=1e-8
        )

    @pytest.mark.parametrize(
        "text, value",
        [("true", True), ("1", True), ("false", False), ("0", False)]
        + [("True", True), ("FALSE", False)],
    )
    def test_a_boolean_is_true_false_1_or_0_in_any_case(self, text, value):
        start = HParams(packed=not value)
        assert parse_overrides(start, f"packed={text}").packed is value

    @pytest.mark.parametrize("text", ["yes", "2", "", "on"])
    def test_other_spellings_of_a_boolean_are_errors(self, text):
        with pytest.raises(ValueError, match="true or false.*such as false"):
            parse_overrides(HParams(), f"packed={text}")

    def test_spaces_around_names_and_values_do_not_matter(self):
        hparams = parse_overrides(HParams(), " d_ff = 64 , norm = pre ")
        assert (hparams.d_ff, hparams.norm) == (64, "pre")

    def test_empty_text_changes_nothing(self):
        assert parse_overrides(HParams(), "") == HParams()

    def test_other_fields_stay(self):
        hparams = parse_overrides(HParams(d_ff=64), "num_layers=2")
        assert hparams.d_ff == 64

    def test_changes_are_checked_together(self):
        hparams = parse_overrides(HParams(), "d_model=96,num_heads=6")
        assert hparams.d_model == 96

    def test_unknown_name_suggests_another(self):
        with pytest.raises(
            ValueError, match="hparams='dropuot'.*Did you mean: dropout"
        ):
            parse_overrides(HParams(), "dropuot=0.3")

    def test_repeated_name_is_an_error(self):
        with pytest.raises(ValueError, match="d_ff=64 and d_ff=128"):
            parse_overrides(HParams(), "d_ff=64,d_ff=128")

    @pytest.mark.parametrize("text", ["d_ff", "d_ff:64", "64"])
    def test_missing_equals_sign_is_shown(self, text):
        with pytest.raises(ValueError, match=f"name=value.*'{text}'"):
            parse_overrides(HParams(), text)

    @pytest.mark.parametrize(
        "text",
        ["num_layers=2.5", "num_layers=two", "dropout=a", "d_ff="]
        + ["d_ff=1_28", "dropout=0_1.5", "d_ff=\u0663", "dropout=\u0663"]
        + ["dropout=nan", "dropout=inf", f"d_ff={'9' * 5000}"],
    )
    def test_wrong_type_is_an_error(self, text):
        with pytest.raises(ValueError, match="must be an? .*(integer|number)"):
            parse_overrides(HParams(), text)

    def test_range_is_checked(self):
        with pytest.raises(ValueError, match="dropout=1.5"):
            parse_overrides(HParams(), "dropout=1.5")


def to_json(hparams):
    """Returns the content of the file `hparams.json`."""
    return json.dumps(dataclasses.asdict(hparams))


class JsonTest:
    @given(ANY_VALUES)
    def test_a_file_and_a_flag_keep_every_value(self, values):
        hparams = HParams(**values)
        assert from_dict(json.loads(to_json(hparams))) == hparams
        flag = ",".join(
            f"{name}={str(value).lower()}" for name, value in values.items()
        )
        assert parse_overrides(HParams(), flag) == hparams

    def test_a_boolean_is_one_in_json(self):
        assert '"packed": true' in to_json(HParams(packed=True))
        assert from_dict({"packed": True}).packed is True

    @pytest.mark.parametrize("value", [1, "true", None])
    def test_a_boolean_of_another_type_is_an_error(self, value):
        with pytest.raises(ValueError, match="`packed` must be true or false"):
            from_dict({"packed": value})

    def test_every_field_is_written(self):
        names = {field.name for field in dataclasses.fields(HParams)}
        assert set(json.loads(to_json(HParams()))) == names

    def test_unknown_name_is_an_error(self):
        with pytest.raises(ValueError, match="'d_fff'.*d_ff"):
            from_dict({"d_fff": 64})

    def test_wrong_type_is_an_error(self):
        with pytest.raises(ValueError, match="d_ff='64'"):
            from_dict({"d_ff": "64"})

    @pytest.mark.parametrize("radius,size", [(0, 0), (1, 3), (32, 65)])
    def test_a_radius_of_version_0_1_becomes_a_size(self, radius, size):
        assert from_dict({"neighbourhood": radius}).neighbourhood_size == size

    @pytest.mark.parametrize(
        "values",
        [
            {"neighbourhood": "3"},
            {"neighbourhood": -1},
            {"neighbourhood": True},
            {"neighbourhood": 10**7},
            {"neighbourhood": 1, "neighbourhood_size": 3},
        ],
    )
    def test_a_wrong_radius_is_an_error(self, values):
        with pytest.raises(ValueError, match="Received: .*neighbourhood"):
            from_dict(values)

    def test_missing_field_takes_its_default(self):
        assert from_dict({"d_ff": 64}) == HParams(d_ff=64)
