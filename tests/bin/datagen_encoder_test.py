import pytest

from keras_transformer.bin import datagen
from keras_transformer.data.generation.encoding import LocalEncoder


def encoder(*arguments):
    for name in datagen.FLAGS:
        datagen.FLAGS[name].unparse()
    datagen.FLAGS(["kt-datagen", *arguments])
    return datagen.make_encoder()


class EncoderTest:
    def test_default_is_this_machine(self):
        assert isinstance(encoder(), LocalEncoder)

    def test_options_reach_the_runner(self):
        pytest.importorskip("apache_beam", reason="needs Apache Beam")
        options = "--temp_location='/a b' --direct_num_workers=3"
        made = encoder("--runner=direct", f"--pipeline_options={options}")
        used = made.pipeline_options.get_all_options(drop_default=True)
        assert used == {
            "runner": "DirectRunner",
            "temp_location": "/a b",
            "direct_num_workers": 3,
        }

    @pytest.mark.parametrize(
        "options, words",
        [
            ("region=here", "'region=here' is not"),
            ("--region=here --runner=direct", "'--runner=direct' is not"),
            ("--region='here", "No closing quotation"),
        ],
    )
    def test_bad_options_are_an_error(self, options, words):
        with pytest.raises(ValueError, match=words):
            encoder("--runner=dataflow", f"--pipeline_options={options}")

    def test_options_without_a_runner_are_an_error(self):
        with pytest.raises(ValueError, match="--runner=local"):
            encoder("--pipeline_options=--region=here")
