import pytest

from keras_transformer.training.backends.cost import SUSTAINED
from keras_transformer.training.backends.cost import compute_cost
from keras_transformer.training.backends.cost import find_matrix_peak
from keras_transformer.training.backends.cost import parse_flops
from keras_transformer.training.backends.cost import recognise_flops

HOUR = 3600


class CostByTimeTest:
    @pytest.mark.parametrize(
        "hours, expected", [(12, "3.3e+18"), (3.5 * 24, "2.3e+19")]
    )
    def test_the_papers_costs_come_out(self, hours, expected):
        """The base and the big model of Table 2, on 8 P100s."""
        cost = compute_cost(hours * HOUR, 8, SUSTAINED["P100"])
        assert f"{cost:.1e}" == expected


class DevicesTest:
    def test_the_papers_figures_are_its_own(self):
        figures = {"K80": 2.8, "K40": 3.7, "M40": 6.0, "P100": 9.5}
        for name, teraflops in figures.items():
            assert parse_flops(name) == pytest.approx(teraflops * 1e12)

    def test_later_devices_have_the_p100s_share_of_their_peak(self):
        assert SUSTAINED["P100"] / 10.6e12 == pytest.approx(0.9, abs=0.005)
        assert SUSTAINED["A100"] == pytest.approx(0.9 * 19.5e12)

    @pytest.mark.parametrize(
        "text", ["P101", "-1", "0", "nan", "inf", "9,5e12"]
    )
    def test_an_unknown_device_is_an_error_that_lists_all(self, text):
        with pytest.raises(ValueError, match=f"--device={text}.*9.5e12.*P100"):
            parse_flops(text)

    @pytest.mark.parametrize(
        "name, device",
        [
            ("Tesla P100-SXM2-16GB", "P100"),
            ("NVIDIA A100-SXM4-40GB", "A100"),
            ("NVIDIA H100 80GB HBM3", "H100"),
        ],
    )
    def test_devices_are_recognised_by_the_drivers_name(self, name, device):
        assert recognise_flops(name) == SUSTAINED[device]

    @pytest.mark.parametrize("name", ["", "cpu", "Quadro P1000"])
    def test_other_devices_are_unknown(self, name):
        assert recognise_flops(name) is None

    @pytest.mark.parametrize(
        "name, precision, teraflops",
        [
            ("NVIDIA H100 80GB HBM3", "bfloat16", 989),
            ("NVIDIA A100-SXM4-40GB", "float32", 156),
            ("Tesla V100-SXM2-16GB", "float16", 125),
        ],
    )
    def test_the_peak_depends_on_the_precision(
        self, name, precision, teraflops
    ):
        assert find_matrix_peak(name, precision) == teraflops * 1e12

    @pytest.mark.parametrize(
        "name, precision",
        [("cpu", "float32"), ("", "float32"), ("Tesla T4", "bfloat16")],
    )
    def test_other_peaks_are_unknown(self, name, precision):
        assert find_matrix_peak(name, precision) is None
