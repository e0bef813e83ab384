"""Tests of the tokenizer, some of them on the treebank's sample."""

import pytest
import tree_examples
from printed_text import printed

from keras_transformer.parsing.tokenizer import tokenize


@pytest.fixture(scope="module")
def sample():
    return [tree.words() for tree in tree_examples.sample()]


class TokenizeTest:
    @pytest.mark.parametrize(
        "sentence, words",
        [
            ("Hello.", "Hello ."),
            ("Mr. J. Hay left.", "Mr. J. Hay left ."),
            ("He works for Acme Corp.", "He works for Acme Corp ."),
            ("He met Acme Inc. (Utah Corp.).", None),
            ("They left the U.S.", "They left the U.S. ."),
            ('"They left the U.S."', "`` They left the U.S. . ''"),
            ("At 5 p.m. he left.", "At 5 p.m. he left ."),
            ("No. 5 said no.", "No. 5 said no ."),
            ("He came. She left.", "He came . She left ."),
            ("Wait... what?!", "Wait ... what ? !"),
            ("And then....", "And then ... ."),
            ("He paid $3.5 million.", "He paid $ 3.5 million ."),
            ("US$1,000.5 is 5% of it", "US$ 1,000.5 is 5 % of it"),
            ("a 62%-owned firm at 1:30", "a 62%-owned firm at 1:30"),
            ("red,green, 1,000,blue", "red , green , 1,000 , blue"),
            ("He--she too--left; I: no", "He -- she too -- left ; I : no"),
            ("and/or 3/4 of [x] {y}*", None),
            ("price(s) (all)", "price -LRB- s -RRB- -LRB- all -RRB-"),
            ("can't CAN'T cannot", "ca n't CA N'T can not"),
            ("I'd say he'll go, she's I'm", "I 'd say he 'll go , she 's I 'm"),
            ("couldn't've gonna", "could n't 've gon na"),
            ("the boys' dog's", "the boys ' dog 's"),
            ("O'Brien at Dunkin' in '82", "O'Brien at Dunkin' in '82"),
            ("rock 'n' roll 'em", "rock 'n' roll 'em"),
            ("AT&T's R&D", "AT&T 's R&D"),
        ],
    )
    def test_splits_as_the_treebank_does(self, sentence, words):
        others = {
            "and/or 3/4 of [x] {y}*": (
                r"and\/or 3\/4 of -LSB- x -RSB- -LCB- y -RCB- \*"
            ),
            "He met Acme Inc. (Utah Corp.).": (
                "He met Acme Inc. -LRB- Utah Corp. -RRB- ."
            ),
        }
        assert " ".join(tokenize(sentence)) == (words or others[sentence])

    @pytest.mark.parametrize(
        "sentence, words",
        [
            ('"Yes," he said.', "`` Yes , '' he said ."),
            ('He said, "yes".', "He said , `` yes '' ."),
            ('He ("Al") said--"no"--so', None),
            ("Say 'yes' twice", "Say ` yes ' twice"),
            ("He said, \"Say 'yes.'\"", "He said , `` Say ` yes . ' ''"),
            ("He said '\"yes\"'.", "He said ` `` yes '' ' ."),
            ('She said " yes " twice', "She said `` yes '' twice"),
        ],
    )
    def test_quotes_open_and_close(self, sentence, words):
        words = words or "He -LRB- `` Al '' -RRB- said -- `` no '' -- so"
        assert " ".join(tokenize(sentence)) == words

    def test_typeset_text_gives_the_words_of_plain_text(self):
        plain = '"It\'s \'fine,\'" he said -- in 1990-91... and "left."'
        typeset = "“It’s ‘fine,’” he said — in 1990–91… and “left.”"
        assert tokenize(typeset) == tokenize(plain)

    def test_addresses_stay_whole(self):
        url, mail = "http://a.org/b?c=1,2&d='e'f", "a.b@c.org"
        assert tokenize(f"See {url}, or ({mail}).") == (
            ["See", url, ",", "or", "-LRB-", mail, "-RRB-", "."]
        )

    def test_empty_text_has_no_words(self):
        assert tokenize("") == tokenize(" \t\n") == []

    @pytest.mark.parametrize(
        "unit", [",", '"', "'s", ".", "(", "a.", "1,", "`"]
    )
    def test_takes_time_in_proportion_to_the_text(self, unit):
        # In proportion to its square, this would take minutes.
        assert tokenize("x" + unit * 50_000)


@tree_examples.needs_sample
class SampleTest:
    def test_printed_sentences_get_their_words_back(self, sample):
        right = sum(tokenize(printed(words)) == words for words in sample)
        assert right >= 0.99 * len(sample)

    def test_what_is_split_already_stays_as_it_is(self, sample):
        right = sum(tokenize(" ".join(words)) == words for words in sample)
        assert right >= 0.998 * len(sample)


class PrintedTest:
    def test_sentences_are_printed_as_a_newspaper_would(self):
        words = (
            "`` I ca n't pay $ 5 -LRB- 1\\/2 -RRB- , '' Mr. Hay 's son said ."
        )
        expected = "\"I can't pay $5 (1/2),\" Mr. Hay's son said."
        assert printed(words.split()) == expected
