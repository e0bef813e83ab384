"""kt-evaluate with several references of each sentence."""

import sacrebleu
from commands import assert_fails
from commands import call

from keras_transformer.bin import evaluate

TEXTS = {
    "hypotheses": ["the red dog runs", "it is good"],
    "a": ["a red dog runs", "that is well"],
    "b": ["the dog runs", "it is good"],
}


def write(directory):
    for name, lines in TEXTS.items():
        (directory / name).write_text("".join(f"{each}\n" for each in lines))
    return f"--hypotheses={directory / 'hypotheses'}"


class ReferencesTest:
    def test_all_count(self, tmp_path, capsys):
        flags = [write(tmp_path), f"--compare={tmp_path / 'a'}"]
        flags.append(f"--references={tmp_path / 'a'},{tmp_path / 'b'}")
        assert call(evaluate, *flags) == 0
        out = capsys.readouterr().out
        expected = sacrebleu.CHRF().corpus_score(
            TEXTS["hypotheses"], [TEXTS["a"], TEXTS["b"]]
        )
        assert f"{expected.score:.2f}" in out
        assert out.count("nrefs:2") >= 6

    def test_all_count_for_lines_that_are_right(self, tmp_path, capsys):
        flags = [write(tmp_path), "--measure=exact_match"]
        flags.append(f"--references={tmp_path / 'a'},{tmp_path / 'b'}")
        assert call(evaluate, *flags, f"--compare={tmp_path / 'a'}") == 0
        out = capsys.readouterr().out
        assert "exact match        50.00" in out and "BLEU" not in out
        assert "symbol errors" in out.split("95% interval")[-1]
        words = ["`--lowercase` needs BLEU, not exact_match"]
        assert_fails(capsys, words, evaluate, *flags, "--lowercase")

    def test_trees_have_one(self, tmp_path, capsys):
        flags = [write(tmp_path), "--measure=f1"]
        flags.append(f"--references={tmp_path / 'a'},{tmp_path / 'b'}")
        assert_fails(capsys, ["must be one file"], evaluate, *flags)
