"""Parsing of Icelandic with small files in the form of IcePaHC's."""

import gzip

import pytest

from keras_transformer import registry

# With the treebank's forms: notes, numbers of trees, lemmas, divided words,
# empty categories, indices, and a tree of notes alone.
TREES = """\
( (IP-MAT (NP-SBJ (PRO-N hún-hún) (CODE <P_12>))
\t  (BEPI er-vera)
\t  (NP-PRD (N-N hest$-hestur) (D-N $inn-hinn)
\t\t  (CP-REL (WNP-1 0)
\t\t\t  (C sem-sem)
\t\t\t  (IP-SUB (NP-SBJ *T*-1) (VBDI kom-koma))))
\t  (, -) (. .-.)) (ID 1450.JUDIT,.1))

( (CODE {COM:note}) (ID 1450.JUDIT,.2))

( (FRAG (NP=2 (NPR-N Jón-Páll-Jón-Páll)) (NP-OB1 *con*)) (ID 1450.JUDIT,.3))

"""
NAMES = ("1150.first.sci-lin", "1450.judit.rel-bib", "2008.ofsi.nar-sag")


@pytest.fixture
def problem(tmp_path):
    folder = tmp_path / "icepahc"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.psd").write_text(TREES, encoding="utf-8")
    return registry.get_problem("parsing_icelandic16k", str(tmp_path / "data"))


class IcelandicTest:
    def test_trees_have_words_without_lemmas_and_traces(
        self, problem, tmp_path
    ):
        first, second = problem.trees("dev", str(tmp_path))
        assert first.words() == "hún er hest$ $inn sem kom - .".split()
        assert str(first) == (
            "(TOP (IP (NP (PRO hún)) (BEPI er) (NP (N hest$) (D $inn) (CP (C "
            "sem) (IP (VBDI kom)))) (, -) (. .)))"
        )
        assert str(second) == "(TOP (FRAG (NP (NPR Jón-Páll))))"
        assert problem.num_left_out("dev") == {"bad_trees": 1}

    def test_own_recipe_has_in_order_trees(self, problem, tmp_path):
        own = registry.get_problem("parsing_icelandic", str(tmp_path / "data"))
        pairs = list(own.text_pairs("dev", str(tmp_path)))
        assert pairs == list(problem.text_pairs("dev", str(tmp_path)))
        _, target = pairs[1]
        assert own.target_text(target) == "Jón-Páll NP( NP) FRAG( FRAG)"

    def test_data_are_made_of_files_by_their_names(
        self, problem, tmp_path, monkeypatch
    ):
        assert problem.vocab_size == 16384
        monkeypatch.setattr(problem, "vocab_size", 330)
        path = tmp_path / "icepahc" / f"{NAMES[0]}.psd"
        text = path.read_bytes().replace(b"kom-", "fór-".encode())
        (tmp_path / "icepahc" / f"{NAMES[0]}.psd.gz").write_bytes(
            gzip.compress(text)
        )
        path.unlink()
        manifest = problem.generate(str(tmp_path))
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == {"train": 2, "dev": 2, "test": 2}
        assert problem.text_split("test")[0][0].endswith("sem kom - .")
        ids = problem.token_pairs("train").inputs[0]
        assert "fór" in problem.vocabulary.decode([ids])[0]

    def test_missing_files_are_an_error(self, problem, tmp_path):
        for name in NAMES:
            (tmp_path / "icepahc" / f"{name}.psd").unlink()
        with pytest.raises(ValueError, match="icepahc holds no trees"):
            problem.generate(str(tmp_path))
