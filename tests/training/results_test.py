"""A row of a sweep takes the scores of its own search and measure."""

from keras_transformer import registry
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.hparam import HParams
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import record_scores
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.sweep.results import select_scores

HPARAMS = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16, alpha=1.4)
GOOD = bleu_report(["a b c d e"], ["a b c d e"])
POOR = bleu_report(["a b c d e"], ["a b c d f"])


LOWERCASE = bleu_report(["a b c d e"], ["a b c d f"], lowercase=True)
INTL = bleu_report(["a b c d e"], ["a b c d f"], tokenize="intl")
OWN = DecodeOptions.from_hparams(HPARAMS)


class ScoresTest:
    def test_other_options_checkpoints_and_texts_do_not_count(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        model_bytes = train_subwords(["some words"], 270, path).model_bytes
        record = {"problem": "copy"}
        run = RunDirectory.create(
            str(tmp_path / "run"), record, HPARAMS, model_bytes
        )
        for split, step, options, report in (
            ("dev", 20, OWN, GOOD),
            ("dev", 20, OWN.replace(beam_size=1), POOR),
            ("dev", 20, OWN.replace(mbr_samples=2), POOR),
            ("dev", 20, OWN.replace(temperature=0.8, top_k=10), POOR),
            ("dev", 20, OWN, LOWERCASE),
            ("dev", 20, OWN, INTL),
            ("dev", 10, OWN, POOR),
            ("wmt14", 20, OWN, POOR),
            ("test", 20, OWN, INTL),
        ):
            record_scores(run, split, step, 1, options, report)
        scores = select_scores(run, 20, registry.get_problem("copy"))
        assert scores.keys() == {"dev"}
        assert scores["dev"]["bleu"] == GOOD.scores["bleu"]
