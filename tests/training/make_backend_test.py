from types import SimpleNamespace

import pytest

from keras_transformer.training.backends import make_backend as make_backend

jax = pytest.importorskip("jax")


class JaxGpuTest:
    @pytest.mark.parametrize(
        "compute_capability, is_fast",
        [("7.5", False), ("8.0", True), ("12.0", True), ("gfx90a", False)],
    )
    def test_bfloat16_is_for_newer_gpus_of_nvidia(
        self, monkeypatch, compute_capability, is_fast
    ):
        gpu = SimpleNamespace(
            platform="gpu", compute_capability=compute_capability
        )
        monkeypatch.setattr(jax, "local_devices", lambda: [gpu])
        assert make_backend._jax_has_bfloat16() == is_fast
