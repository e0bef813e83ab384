"""Tests of the toy translation problem: its corpus and its grammar."""

import gzip
import re

import pytest
from toy_text import write
from toy_text.grammar import MODALS
from toy_text.grammar import _german_present
from toy_text.lexicon import ADJECTIVES
from toy_text.lexicon import NOUNS
from toy_text.lexicon import VERBS
from toy_text.sentences import SentenceWriter
from toy_text.write import make_files

from keras_transformer import registry
from keras_transformer.data.vocabulary import subwords
from keras_transformer.problems.toy import TranslateEndeToy

ALL_NOUNS = sum(NOUNS.values(), ())
STEMS = "|".join(a.stem or a.german for a in ADJECTIVES)


@pytest.fixture(scope="module")
def corpus():
    problem = TranslateEndeToy()
    return {
        split: list(problem.text_pairs(split, "")) for split in problem.splits
    }


@pytest.fixture(scope="module")
def pairs(corpus):
    return sum(corpus.values(), [])


def words(texts):
    return {word.strip(".,?") for text in texts for word in text.split()}


class CorpusTest:
    def test_has_the_promised_sizes(self, corpus):
        sizes = {split: len(pairs) for split, pairs in corpus.items()}
        assert sizes == {"train": 25_000, "dev": 500, "test": 500}

    @pytest.mark.parametrize("side", [0, 1])
    def test_no_sentence_occurs_twice_within_or_across_splits(
        self, pairs, side
    ):
        assert len({pair[side] for pair in pairs}) == len(pairs)

    @pytest.mark.parametrize("side", [0, 1])
    def test_every_word_of_dev_and_test_occurs_in_training(self, corpus, side):
        train, held_out = (
            words(pair[side] for split in splits for pair in corpus[split])
            for splits in (("train",), ("dev", "test"))
        )
        assert held_out <= train

    @pytest.mark.slow
    def test_is_what_the_grammars_write(self):
        for name, text in make_files():
            packed = (write.PLACE / name).read_bytes()
            assert gzip.decompress(packed).decode() == text

    def test_stays_the_same_from_version_to_version(self, corpus):
        assert corpus["train"][0] == (
            "Today a sister wants to eat the fresh cakes.",
            "Heute will eine Schwester die frischen Kuchen essen.",
        )

    def test_has_4_to_18_words_a_sentence(self, pairs):
        lengths = {len(text.split()) for pair in pairs for text in pair}
        assert lengths == set(range(4, 19))

    def test_is_found_by_its_name_in_both_directions(self):
        problem = registry.get_problem("translate_ende_toy_rev")
        assert problem.data_name == "translate_ende_toy"

    def test_supports_its_vocabulary(self, corpus, tmp_path):
        texts = [text for pair in corpus["train"] for text in pair]
        size = TranslateEndeToy.vocab_size
        vocabulary = subwords.train_subwords(texts, size, tmp_path / "model")
        assert vocabulary.vocab_size == size
        assert vocabulary.decode(vocabulary.encode(texts[:100])) == texts[:100]


class TranslationTest:
    """Claims about many sentences, including repeated ones."""

    @pytest.fixture(scope="class")
    def translations(self):
        writer = SentenceWriter(seed=1)
        return {writer.sentence() for _ in range(30_000)}

    @pytest.mark.parametrize("side", [0, 1])
    def test_is_a_function_in_both_directions(self, translations, side):
        assert len({pair[side] for pair in translations}) == len(translations)


class AgreementTest:
    """Claims about every sentence of the corpus."""

    @pytest.fixture(scope="class")
    def in_english(self, pairs):
        return " ".join(source for source, _ in pairs).lower()

    @pytest.fixture(scope="class")
    def in_german(self, pairs):
        return "\n".join(target for _, target in pairs)

    def test_english_verbs_agree_with_pronouns(self, in_english):
        wrong = (
            r"\bi (is|are|has|does|were)\b",
            r"\bs?he (am|are|do|were)\b",
            r"\b(we|they) (am|is|was|does)\b",
        )
        assert not re.search("|".join(wrong), in_english)

    def test_an_stands_before_vowels_and_a_before_the_rest(self, in_english):
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", in_english)

    def test_german_pronouns_agree_with_the_perfect(self, in_german):
        for pronoun, verbs in {
            "ich": "habe bin",
            "er": "hat ist",
            "wir": "haben sind",
        }.items():
            auxiliaries = re.findall(
                rf"^{pronoun} (habe|bin|hat|ist|haben|sind)\b",
                in_german,
                re.IGNORECASE | re.MULTILINE,
            )
            assert set(auxiliaries) == set(verbs.split())

    def test_german_articles_agree_with_the_gender_of_the_noun(self, in_german):
        expected = {
            "der": "der den dem ein einen einem kein keinen keinem",
            "die": "die der eine einer keine keiner",
            "das": "das dem ein einem kein keinem",
        }
        articles = articles_before_nouns(in_german)
        for noun in ALL_NOUNS:
            if noun.german != noun.german_plural:
                assert articles[noun.german] <= set(
                    expected[noun.gender].split()
                )

    def test_weak_nouns_drop_their_ending_in_the_nominative_only(
        self, in_german
    ):
        articles = articles_before_nouns(in_german)
        for noun in ALL_NOUNS:
            if noun.german != noun.oblique:
                assert articles[noun.german] <= {"der", "ein"}
                assert articles[noun.oblique] >= {
                    "den",
                    "dem",
                    "einen",
                    "einem",
                }

    def test_adjectives_after_an_article_in_em_or_en_end_in_en(self, in_german):
        articles = "(?:ein|kein|mein|sein|ihr|unser|dies)e[mn]"
        endings = re.findall(rf"\b{articles} (?:{STEMS})(\w+) ", in_german)
        assert set(endings) == {"en"}

    def test_adjectives_after_a_bare_ein_show_the_gender(self, in_german):
        endings = {"der": "er", "das": "es"}
        nouns = {noun.german: noun for noun in ALL_NOUNS}
        pairs = re.findall(
            rf"\b(?:ein|kein|mein|sein|ihr|unser) (?:{STEMS})(\w+) (\w+)",
            in_german,
        )
        assert {noun for _, noun in pairs} > {"Mann", "Kind"}
        for ending, noun in pairs:
            assert ending == endings[nouns[noun].gender]

    def test_separated_prefixes_close_the_main_clause(self, in_german):
        calls = re.findall(
            r"^(?:Ich rufe|Er ruft|Wir rufen) ([^,.]+)", in_german, re.MULTILINE
        )
        assert len(calls) > 10
        for rest in calls:
            assert re.search(r"\ban( und|$)", rest)

    def test_dependent_clauses_close_with_the_verb(self, in_german):
        verbs = [*VERBS, *MODALS]
        forms = words(
            [
                "bin ist sind war waren habe hat haben",
                *(
                    _german_present(verb, person)
                    for verb in verbs
                    for person in ("I", "he", "they")
                ),
            ]
        )
        last_words = set(
            re.findall(
                r", (?:weil|obwohl|wenn|dass|ob) [^,\n]* (\w+)[.]", in_german
            )
        )
        prefixes = {verb.prefix for verb in VERBS}
        for word in last_words:
            assert any(word.removeprefix(p) in forms for p in prefixes)


def articles_before_nouns(text):
    """Returns the lower-case articles directly before each noun."""
    articles = {}
    pattern = (
        r"\b([Dd](?:er|en|em|as|ie)|[Kk]?[Ee]in(?:e[mnr]?)?) ([A-ZÄÖÜ]\w+)"
    )
    for article, noun in re.findall(pattern, text):
        articles.setdefault(noun, set()).add(article.lower())
    return articles
