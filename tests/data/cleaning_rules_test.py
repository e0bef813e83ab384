"""Tests of the rules that judge a pair by itself."""

import pytest

from keras_transformer.data.cleaning import rules
from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.cleaning.rules import SCRIPTS
from keras_transformer.data.cleaning.rules import is_mostly_in
from keras_transformer.data.cleaning.rules import make_side_rule
from keras_transformer.data.cleaning.rules import normal_form
from keras_transformer.data.cleaning.rules import parse_scripts
from keras_transformer.data.cleaning.rules import script_of
from keras_transformer.data.text.normalization import normalize

# One sentence with letters of several scripts and marks each.
SENTENCES = [
    "Die Bären schlafen – „Ä“, sagte sie … „Grüße aus Århus“.",
    "NÃO! IRMÃ” É “MAÇÔ, À ÉCOLE, FORÊT, ÂGE « Noël ».",
    "El niño comió 3 piñas; ESPAÑA, 20 ºC y 5 €.",
    "«GÅ PÅ» står det. »HYVÄÄ PÄIVÄÄ», «AMANHû; »Ä«",
    "Москва́ – столица России.",
    "Η Αθήνα είναι μεγάλη.",
    "東京は大きいです。",
    "한국어 문장입니다.",
    "यह हिन्दी का वाक्य है।",
    "Tôi là người Việt Nam, Ấ Ẫ Â Ã.",
    "Zażółć gęślą jaźń, Łódź; İstanbul'da ışık.",
    "\tA tab is no broken sign.",
]


class SideRuleTest:
    PAIRS = [("7", "Ja."), ("Yes.", "7"), ("7", "7"), ("Yes.", "Ja.")]

    def test_either_side_counts(self):
        rule = make_side_rule("number", str.isdigit)
        assert rule.find_drops(self.PAIRS) == [True, True, True, False]

    def test_each_side_may_have_its_own_function(self):
        rule = make_side_rule("number", str.isdigit, str.isalpha)
        assert rule.find_drops(self.PAIRS) == [True, False, True, False]


class EmptyTest:
    @pytest.mark.parametrize(
        "blank", ["", " ", "\t\u3000\xa0", "\u200b", "\ufeff\xad \x1a"]
    )
    def test_what_nobody_sees_is_empty(self, blank):
        assert rules.is_empty(blank)
        assert not normalize(blank).strip()
        assert not rules.is_empty(f"{blank}…")


class LengthTest:
    def test_limit_is_the_largest_length_that_stays(self):
        pairs = [("x" * 5, "x" * 5), ("x" * 6, "x"), ("x", "x" * 6)]
        cleaner = Cleaner(CleaningOptions(("too_long",), max_length=5))
        assert list(cleaner.filter_pairs(pairs)) == pairs[:1]

    @pytest.mark.parametrize("num_characters", [1, 10, 100])
    def test_ratio_is_the_same_for_both_sides(self, num_characters):
        limit = 3 * num_characters + rules.RATIO_MARGIN
        for longer, expected in ((limit, False), (limit + 1, True)):
            sides = "x" * num_characters, "x" * longer
            for pair in (sides, sides[::-1]):
                assert rules.is_uneven(*pair, max_ratio=3) == expected


class IdenticalTest:
    def test_only_long_sides_are_dropped(self):
        assert not rules.is_identical("Los Angeles", "Los Angeles")
        assert not rules.is_identical("x" * 40, "y" * 40)
        assert rules.is_identical("x" * 40, "x" * 40)


class EncodingTest:
    @pytest.mark.parametrize("sentence", SENTENCES)
    def test_sound_text_stays(self, sentence):
        assert not rules.is_broken(sentence)

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
    @pytest.mark.parametrize(
        "sentence",
        [
            *("Grüße", "el niño", "à la carte", "Łódź", "“quoted”", "Привет"),
            *("Noël", "goût", "ли"),
        ],
    )
    def test_utf_8_taken_for_another_encoding_is_found(
        self, sentence, encoding
    ):
        broken = sentence.encode().decode(encoding, errors="replace")
        assert rules.is_broken(broken)

    @pytest.mark.parametrize("sign", "\ufffd\x00\x08\x0b\x1b\r\x7f\x85\x9f")
    def test_signs_of_damage_are_found(self, sign):
        assert rules.is_broken(f"a{sign}b")

    def test_latin_1_taken_for_utf_8_is_found(self):
        broken = "Grüße".encode("latin-1").decode(errors="replace")
        assert rules.is_broken(broken)


class ScriptTest:
    @pytest.mark.parametrize(
        "sentence, scripts",
        [
            (SENTENCES[0], {"latin"}),
            (SENTENCES[4], {"cyrillic"}),
            (SENTENCES[5], {"greek"}),
            (SENTENCES[6], {"han", "hiragana"}),
            (SENTENCES[7], {"hangul"}),
            (SENTENCES[8], {"devanagari"}),
            ("ދިވެހި ބަސް", {"thaana"}),
            ("ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ", {"cherokee"}),
            ("ᱥᱟᱱᱛᱟᱲᱤ", {"ol_chiki"}),
            ("ᐃᓄᒃᑎᑐᑦ", {"canadian_aboriginal"}),
            ("ᦅᧄᦺᦑ ᥖᥭᥰᥘᥫᥴ", {"new_tai_lue", "tai_le"}),
        ],
    )
    def test_letters_belong_to_their_scripts(self, sentence, scripts):
        assert {script_of(sign) for sign in sentence} - {None} == scripts
        assert scripts <= set(SCRIPTS)
        others = set(SCRIPTS) - scripts
        assert is_mostly_in(sentence, scripts)
        assert not is_mostly_in(sentence, others)

    def test_every_script_has_letters(self):
        letters = map(script_of, map(chr, range(0x20000)))
        assert {*letters} - {None} == {*SCRIPTS}

    def test_signs_of_several_scripts_have_none(self):
        assert {script_of(sign) for sign in "ー々µªʰ〆"} == {None}

    def test_half_of_the_letters_is_enough(self):
        assert is_mostly_in("abжя", {"cyrillic"})
        assert not is_mostly_in("abcжя", {"cyrillic"})
        assert is_mostly_in("1 + 1 = 2 ª", {"cyrillic"})

    def test_each_side_has_its_own_scripts(self):
        scripts = {
            "source_scripts": frozenset({"latin"}),
            "target_scripts": frozenset({"cyrillic"}),
        }
        pairs = [
            ("Moscow", "Москва"),
            ("Москва", "Москва"),
            ("Moscow", "Moscow"),
        ]
        cleaner = Cleaner(CleaningOptions(**scripts))
        assert list(cleaner.filter_pairs(pairs)) == pairs[:1]

    def test_sides_without_scripts_may_have_any(self):
        assert rules.drop_other_scripts({"cyrillic"})("Moscow")
        assert not rules.drop_other_scripts({"latin"})("Moscow")
        assert not rules.drop_other_scripts(None)("Moscow")

    def test_unknown_script_is_an_error(self):
        assert parse_scripts("Han, hiragana", "s") == {"han", "hiragana"}
        with pytest.raises(ValueError, match="'cyrilic'. Did you mean: cyril"):
            parse_scripts("latin,cyrilic", "`--source_script`")


class HeldOutTest:
    def test_the_normal_form_counts(self):
        drops = rules.drop_held_out(["A man sleeps.", "Ein Mann schläft.", "!"])
        assert drops("a man  sleeps")
        assert drops("EIN MANN SCHLÄFT!")
        assert not drops("Es schläft ein Mann.")
        assert not drops("A man sleeps late.")

    def test_text_without_letters_is_never_held_out(self):
        assert not rules.drop_held_out(["1, 2"])("3")


class NormalFormTest:
    @pytest.mark.parametrize(
        "one, other",
        [
            ("Straße", "STRASSE"),
            ("caf\xe9", "cafe\u0301"),
            ("¿Qué?", "qué"),
            ("ﬁn 1\xa0000", "fin"),
        ],
    )
    def test_unimportant_differences_vanish(self, one, other):
        assert normal_form(one) == normal_form(other)

    @pytest.mark.parametrize(
        "one, other", [("año", "ano"), ("कि", "की"), ("a b", "a c")]
    )
    def test_other_letters_stay_apart(self, one, other):
        assert normal_form(one) != normal_form(other)


class MarkupTest:
    def test_tags_are_found_but_no_comparisons_nor_placeholders(self):
        assert rules.has_markup("<p class='x'>A bear</p>")
        assert rules.has_markup("Ein<br/>Bär")
        assert not rules.has_markup("Open <file> if a < b.")
        assert not rules.has_markup("<Datei>, a<b, c>d")
