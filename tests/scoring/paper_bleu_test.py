import pytest

from keras_transformer.scoring.paper_bleu import tokenize


class TokenizeTest:
    def test_tokens_are_those_of_moses_with_split_compounds(self):
        pytest.importorskip("sacremoses")
        text = 'Das ist "gut", z.B. das RTF-Format-Handbuch - oder?'
        assert tokenize([text], "de") == [
            "Das ist &quot; gut &quot; , z.B. das RTF ##AT##-##AT## Format "
            "##AT##-##AT## Handbuch - oder ?"
        ]

    def test_compounds_of_other_languages_remain_whole(self):
        pytest.importorskip("sacremoses")
        text = "C'est l'arc-en-ciel."
        assert tokenize([text], "fr") == ["C&apos; est l&apos; arc-en-ciel ."]

    def test_split_text_is_not_split_again(self):
        once = tokenize(["RTF-Format"], "de", is_tokenized=True)
        assert once == ["RTF ##AT##-##AT## Format"]
        assert tokenize(once, "de", is_tokenized=True) == once
