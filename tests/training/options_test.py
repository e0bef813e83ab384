import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.training.options import StartOptions


class StartOptionsTest:
    def test_a_number_of_numpy_is_a_seed_that_a_run_can_record(self):
        assert type(StartOptions(random_seed=np.int64(3)).random_seed) is int

    @pytest.mark.parametrize("seed", [1.5, "3", -1])
    def test_another_seed_is_refused(self, seed):
        """A run would be made that no command could read."""
        with pytest.raises(ValueError, match="`random_seed` must be"):
            StartOptions(random_seed=seed)

    @pytest.mark.parametrize(
        "name", ["train_steps", "eval_frequency", "train_minutes"]
    )
    def test_a_text_is_not_a_number(self, name):
        with pytest.raises(ValueError, match=f"Received: {name}='100'. Use"):
            StartOptions(**{name: "100"})

    @pytest.mark.parametrize(
        "name",
        ["early_stopping_patience", "keep_checkpoint_max", "eval_steps"],
    )
    def test_a_fraction_is_not_a_count(self, name):
        """The training would fail where it first uses it, after hours."""
        with pytest.raises(UserError, match=f"an integer from .* {name}=2.5"):
            StartOptions(**{name: 2.5})

    def test_a_number_is_the_speed_of_a_device(self):
        assert StartOptions(device=9e12).device == 9e12
        with pytest.raises(UserError, match="--device=-1"):
            StartOptions(device=-1)

    def test_a_text_is_not_two_updates(self):
        with pytest.raises(ValueError, match=r"such as \(10, 20\). Received"):
            StartOptions(profile_steps="10,20")
