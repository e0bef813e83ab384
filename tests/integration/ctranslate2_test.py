"""A trained run gives the same translations from CTranslate2."""

import os

import pytest
from commands import call

from keras_transformer import registry
from keras_transformer.bin import decoder
from keras_transformer.bin import exporter
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

pytest.importorskip("ctranslate2")


@pytest.fixture(scope="module")
def texts(trained_run):
    problem = registry.get_problem(
        "copy", RunDirectory(trained_run).record["data_dir"]
    )
    return [source for source, _ in problem.text_pairs("test", None)][:200]


class TrainedRunTest:
    @pytest.mark.parametrize(
        "beam_size", [pytest.param(1, marks=pytest.mark.slow), 4]
    )
    def test_translations_and_scores_are_ours(
        self, beam_size, trained_run, texts, tmp_path
    ):
        run = RunDirectory(trained_run)
        path = export_ctranslate2(
            run, str(tmp_path / "out"), DecodeOptions.from_hparams(run.hparams)
        )
        options = {"beam_size": beam_size, "return_scores": True}
        expected, scores = Translator.load(trained_run, engine="keras")(
            texts, **options
        )
        translations, their_scores = Translator.load(path)(texts, **options)
        pairs = zip(translations, expected, their_scores, scores)
        differ = [pair for pair in pairs if pair[0] != pair[1]]
        # Only an unlikely end may be missed; see `ctranslate2_search`.
        assert len(differ) <= len(texts) // 100
        assert all(score < wanted for *_, score, wanted in differ)
        assert len(differ) < len(texts) == len(translations)
        equal = [abs(a - b) for a, b in zip(their_scores, scores)]
        assert sorted(equal)[len(texts) - len(differ) - 1] < 1e-4

    def test_scores_beside_greedy_translations_change_none(
        self, trained_run, texts, tmp_path, capsys
    ):
        run = RunDirectory(trained_run)
        path = export_ctranslate2(
            run, str(tmp_path / "out"), DecodeOptions.from_hparams(run.hparams)
        )
        (tmp_path / "texts").write_text("\n".join(["", *texts, ""]))
        flags = [f"--output_dir={path}", "--beam_size=1"]
        flags.append(f"--decode_from_file={tmp_path / 'texts'}")
        assert call(decoder, *flags) == 0
        alone = capsys.readouterr().out.splitlines()
        assert call(decoder, *flags, "--write_scores") == 0
        rows = capsys.readouterr().out.splitlines()
        translations, scores = zip(*(row.split("\t") for row in rows))
        assert list(translations) == alone
        assert all(float(score) < 0 for score in scores[1:])


class ShortlistTest:
    def test_a_model_that_copies_still_copies(
        self, trained_run, texts, tmp_path, capsys
    ):
        """Learns from text that lacks some of the words to copy."""
        paths = [str(tmp_path / f"train.{side}") for side in ("en", "de")]
        for path in paths:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{text}\n" for text in texts[:20])
        flags = [f"--output_dir={trained_run}", f"--export_dir={tmp_path}/out"]
        flags += ["--format=ctranslate2", f"--shortlist={','.join(paths)}"]
        assert call(exporter, *flags) == 0
        path = capsys.readouterr().out.strip()
        assert os.path.getsize(f"{path}/vmap.txt")
        right = map(str.__eq__, Translator.load(path)(texts), texts)
        assert sum(right) > 0.9 * len(texts)
