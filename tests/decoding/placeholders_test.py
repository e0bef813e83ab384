"""Placeholders and tags that translations keep."""

import itertools
import re

import numpy as np
import pytest
from small_translators import make_translator
from small_translators import make_tree_vocabulary

from keras_transformer.decoding.engines.attention import WORD
from keras_transformer.decoding.engines.attention import WordLinks
from keras_transformer.decoding.engines.attention import find_words
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import restore
from keras_transformer.documents.placing import TAG

KEPT = [
    *("{name}", "{0}", "%(count)d"),
    *("{{name}}", "{{ user.name }}", "${name}", "%{name}", "#{a b}", "${{a}}"),
    *("{ name }", "{{{raw}}}", "<%= name %>", "%<name>s"),
    *("{0, number, #.#}", "%@", "%1$@", "%#@dogs@", "%name%", "%%name%%"),
    *("$(name)", "$t(key.name)", "\\(name)", "@:common.name", "[% name %]"),
    *("%s", "%d", "%.2f", "%1$s", "%8lu", "%-10s", "%#10lx", "%*.*f", "%zu"),
]
ADDRESSES = ["https://example.org/a?b=c&d=1#e", "me.you@example.org"]
MESSAGES = [
    "{count, plural, one {The dog barks.} other {The dogs bark.}}",
    "{n,plural,=0{no dog}one{{name} has a dog}other{{name} has # dogs}}",
    "{sex, select, male {He runs} other {{n, plural, other {They run}}}}",
    "{n, selectordinal, one {#st} other {#th '{' dog}}",
    "{0,choice,0#no dog|1#a dog|1<{0} dogs}",
    "{n, plural, one {It''s '{n}' dog} other {# dogs}}",
    "{ $n -> [one] a dog *[other] { $n } dogs }",
    "{ NUMBER($n) -> [one] a dog *[other] dogs }",
    "{count, plural, one {a dog",  # the rest is on other lines
]
TEMPLATES = [
    "https://example.org/users/{id}",
    "https://example.org/{id}/edit",
    "http://example.org/a?b={b}&c={c}",
    "https://{host}",
    "https://{host}/a.{0}",
    "https://example.org/{{id}}",
    "https://example.org/${id}",
]


def links_of(source, target, order):
    """Links word `i` of the target to word `order[i]` of the source."""
    words = [find_words(text, WORD) for text in (source, target)]
    weights = np.eye(len(words[0]))[list(order)]
    return WordLinks(*words, weights)


def is_well_nested(text):
    """Tells whether all start tags end in the reverse order."""
    open_names = []
    for tag in TAG.findall(text):
        name = re.match(r"</?(\w+)", tag)[1]
        if tag.startswith("</"):
            if not open_names or open_names.pop() != name:
                return False
        elif not tag.endswith("/>"):
            open_names.append(name)
    return not open_names


class MaskTest:
    def test_percent_signs_of_numbers_are_text(self):
        text = "Save 50% of 20 %, 5%don't, %20 and 100%."
        assert Placeholders().mask(text).text == text

    @pytest.mark.parametrize("kept", KEPT)
    def test_a_placeholder_becomes_a_name(self, kept):
        masked = Placeholders().mask(f"You have ({kept}), now.")
        assert masked.text == "You have (Tom), now."
        assert masked.stand_ins["Tom"].piece.raw == kept
        assert restore(masked, "Ya tienes (Tom).") == f"Ya tienes ({kept})."

    @pytest.mark.parametrize("message", MESSAGES)
    def test_a_message_of_icu_is_one_placeholder(self, message):
        masked = Placeholders([r"\d"]).mask(f"You see {message}")
        assert masked.text == "You see Tom"
        assert masked.has_message
        assert restore(masked, "Ves Tom") == f"Ves {message}"

    @pytest.mark.parametrize(
        "text", [*MESSAGES, *KEPT, "{a}: {b}!", "<1>{a}</1> (%d)", "<0/>"]
    )
    def test_a_text_without_words_beside_them_is_copied(self, text):
        masked = Placeholders().mask(f" {text}\n")
        assert (masked.text, restore(masked, "")) == ("", text)

    @pytest.mark.parametrize(
        "text",
        ["50 % of it", "1 <2 and 3> 1", "{plural, of a}", "a < b > c", "a@b"]
        + ["{a b}", "1%", "", "  "],
    )
    def test_other_text_stays(self, text):
        masked = Placeholders().mask(text)
        assert masked == (" ".join(text.split()), {}, [])

    @pytest.mark.parametrize(
        "kept",
        ["50%s", "v{version}", "{a}{b}", "{a}cmd{b}", "{h}h{m}"],
    )
    def test_letters_beside_a_placeholder_are_kept_with_it(self, kept):
        masked = Placeholders().mask(f"Buy {kept} now.")
        assert masked.text == "Buy Tom now."
        assert restore(masked, "Compra ya Tom.") == f"Compra ya {kept}."

    def test_a_letter_behind_a_tag_makes_no_word_of_a_name(self):
        masked = Placeholders().mask("Buy <b>{a}</b>items.")
        assert masked.text == "Buy items."
        assert restore(masked, "Compra.") == "Compra.<b>{a}</b>"

    def test_names_of_the_text_are_not_taken(self):
        masked = Placeholders().mask("Tom and Maria saw {a} and {b}.")
        assert masked.text == "Tom and Maria saw Peter and Anna."

    def test_names_that_are_taken_stand_for_nothing(self):
        masked = Placeholders().mask("{a} and {b}.", taken=["Tom", "Peter"])
        assert masked.text == "Maria and Anna."

    @pytest.mark.parametrize("url", TEMPLATES)
    @pytest.mark.parametrize(
        "text", ["See {} now.", "See {}.", "See ({}), or!", "See '{}'?", "{}"]
    )
    def test_a_url_keeps_the_placeholders_in_it(self, url, text):
        masked = Placeholders().mask(text.replace("{}", url))
        assert [tag.piece.raw for tag in masked.tags] == [url]
        assert not masked.stand_ins
        assert masked.text == " ".join(text.replace("{}", "").split())

    @pytest.mark.parametrize("end", [*".,;:!?)]}'", "", "{", "{a b}"])
    def test_a_url_ends_before_punctuation(self, end):
        masked = Placeholders().mask(f"See https://example.org/a{end}")
        assert [tag.piece.raw for tag in masked.tags] == [
            "https://example.org/a"
        ]

    @pytest.mark.parametrize("url", ["/a_(b)", "/(a)_(b)/c", "/({id})", "/(a)"])
    @pytest.mark.parametrize("end", ["", ".", ")", "), or", "(c", " (d)"])
    def test_a_url_keeps_brackets_in_pairs(self, url, end):
        url = f"https://example.org{url}"
        masked = Placeholders().mask(f"See ({url}{end}")
        assert [tag.piece.raw for tag in masked.tags] == [url]

    @pytest.mark.parametrize("pattern", [r"\[\w+\]", r":\w+:", r"<\w+>"])
    def test_a_url_keeps_the_end_of_other_placeholders(self, pattern):
        kept = pattern.replace(r"\w+", "id").replace("\\", "")
        masked = Placeholders([pattern]).mask(f"See https://a.org/{kept} now.")
        inserted = [*masked.tags, *masked.stand_ins.values()]
        text = "".join(mark.piece.raw for mark in inserted)
        assert text == f"https://a.org/{kept}"

    def test_tags_in_brackets_are_tags(self):
        masked = Placeholders().mask(
            "A [b]dog[/b] [url=http://a.org]runs[/url]"
        )
        assert masked.text == "A dog runs"
        assert [tag.piece.raw for tag in masked.tags] == [
            "[b]",
            "[/b]",
            "[url=http://a.org]",
            "[/url]",
        ]

    def test_tags_leave_single_spaces(self):
        masked = Placeholders().mask("{% a %}A <br/> <b>dog </b> runs<hr>")
        assert masked.text == "A dog runs"
        assert [tag.piece.raw for tag in masked.tags] == [
            "{% a %}",
            "<br/>",
            "<b>",
            "</b>",
            "<hr>",
        ]


class RestoreTest:
    @pytest.mark.parametrize("red, house", [("b", 'a href="x"'), ("0", "1")])
    def test_tags_follow_their_words(self, red, house):
        end = house[0]
        source = f"the <{red}>red</{red}> <{house}>house</{end}>."
        masked = Placeholders().mask(source)
        links = links_of(masked.text, "la casa roja.", [0, 2, 1, 3])
        assert restore(masked, "la casa roja.", links) == (
            f"la <{house}>casa</{end}> <{red}>roja</{red}>."
        )

    def test_inner_tags_stay_inside(self):
        masked = Placeholders().mask("<p>a <b>b <i>c</i></b> d</p>")
        links = links_of(masked.text, "d c a b", [3, 2, 0, 1])
        restored = restore(masked, "d c a b", links)
        assert restored == "<p>d <b><i>c</i> a b</b></p>"

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_an_address_is_where_it_was(self, address):
        for source, expected in (
            ("read {} first.", "lee {} antes."),
            ("read first, {}.", "lee antes, {}."),
            ("read first: {}", "lee antes: {}"),
            ("{} first", "{} lee"),
            ("read <b>{}</b>", "lee <b>{}</b>"),
        ):
            masked = Placeholders().mask(source.format(address))
            assert address not in masked.text
            target = expected.replace("{}", "")
            target = " ".join(re.sub("<.*>", "", target).split())
            order = range(len(WORD.findall(target)))
            links = links_of(masked.text, target, order)
            restored = restore(masked, target, links)
            assert restored == expected.format(address)

    @pytest.mark.parametrize("address", ADDRESSES)
    def test_no_word_joins_an_address(self, address):
        for source, target, order, expected in (
            ("read {}.", "lee.", [0], "lee {}."),
            ("to {}, please.", "a, favor.", [0, 1, 2, 3], "a {}, favor."),
            ("go. {}.", "go lejos", [1, 0], "{} go lejos"),
            ("x({}) y", "x() y", [0, 1, 2, 3], "x({}) y"),
        ):
            masked = Placeholders().mask(source.format(address))
            number = len(WORD.findall(target))
            order = [*order, *range(len(order), number)][:number]
            links = links_of(masked.text, target, order)
            assert restore(masked, target, links) == expected.format(address)

    def test_a_tag_that_stands_alone_keeps_its_spaces(self):
        masked = Placeholders().mask("a <br/> b<hr>")
        links = links_of(masked.text, "x y", [0, 1])
        assert restore(masked, "x y", links) == "x <br/> y<hr>"

    @pytest.mark.parametrize(
        "written, restored",
        [
            ("Toms Hund .", "{n}s Hund ."),
            ("Toms Hund und Tom", "{n}s Hund und "),
            ("Tom und Toms Hund", "{n} und  Hund"),
            ("Tomaten , Tom !", "Tomaten , {n} !"),
            ("これはTomの犬です。", "これは{n}の犬です。"),
        ],
    )
    def test_a_name_may_have_the_ending_of_a_case(self, written, restored):
        masked = Placeholders().mask("{n}'s dog .")
        assert masked.text == "Tom's dog ."
        assert restore(masked, written) == restored

    def test_a_name_that_is_missing_or_repeated_comes_out_once(self):
        masked = Placeholders().mask("ask {a} or {b}")
        links = links_of(masked.text, "Maria o Maria", [3, 2, 3])
        assert restore(masked, "Maria o Maria", links).split() == [
            "{a}",
            "{b}",
            "o",
        ]

    @pytest.mark.parametrize(
        "text", ["{a} or %d", "%d or {a}", "me@a.org: {a} or %d"]
    )
    @pytest.mark.parametrize("target", ["Tom", "Maria", "Tom o", "o Maria"])
    def test_what_is_inserted_beside_a_name_leaves_no_name(self, text, target):
        masked = Placeholders().mask(text)
        words = len(find_words(target, WORD))
        for order in itertools.product(
            range(len(find_words(masked.text, WORD))), repeat=words
        ):
            links = links_of(masked.text, target, order)
            restored = restore(masked, target, links)
            assert "Tom" not in restored and "Maria" not in restored
            kept = [one for one in ("{a}", "%d", "me@a.org") if one in text]
            for one in kept:
                assert restored.count(one) == 1
                restored = restored.replace(one, " ")
            assert restored.split() == re.findall(r"\bo\b", target)

    @pytest.mark.parametrize("seed", range(30))
    def test_everything_is_kept_and_nests(self, seed):
        generator = np.random.default_rng(seed)
        words = list("abcdefgh")
        for _ in range(3):
            first, last = sorted(generator.integers(0, len(words), 2))
            inner = [words[first : last + 1]]
            if is_well_nested(" ".join(inner[0])):
                name = "bip"[generator.integers(3)]
                words[first] = f"<{name}>{words[first]}"
                words[last] += f"</{name}>"
        words.insert(4, "{name}")
        text = " ".join(words)
        assert is_well_nested(text)
        masked = Placeholders().mask(text)
        length = len(masked.text.split())
        target = " ".join("stuvwxyz"[:length])
        order = generator.integers(0, length, len(target.split()))
        restored = restore(masked, target, links_of(masked.text, target, order))
        assert is_well_nested(restored)
        for kept in ("{name}", *TAG.findall(text)):
            assert restored.count(kept) == text.count(kept)
        rest = TAG.sub("", restored).replace("{name}", "")
        assert rest.split() == target.split()


class TranslatorTest:
    def test_each_is_kept_once(self, translator):
        texts = [
            "a <b>dog</b> runs over {street}",
            "two women",
            "",
            " <br/> ",
            "the man <i>reads <b>%d</b></i> books",
        ]
        translations = translator(texts, protect=Placeholders())
        assert translations[1:3] == translator(texts[1:3])
        assert translations[3] == "<br/>"
        for text, translation in zip(texts, translations):
            assert is_well_nested(translation)
            for kept in ("{street}", "%d", *TAG.findall(text)):
                assert translation.count(kept) == text.count(kept)

    def test_a_message_of_icu_raises_an_alarm(self, translator):
        texts = ["a dog", f"a {MESSAGES[0]}", "a {dog}"]
        protect = Placeholders()
        hypotheses = list(translator.hypotheses(texts, protect=protect))
        alarms = translator.find_alarms(texts, hypotheses, protect)
        assert ["message" in each for each in alarms] == [False, True, False]

    @pytest.mark.slow
    def test_all_hypotheses_keep_them(self, translator):
        (hypotheses,) = translator(
            ["a {dog}"], num_hypotheses=3, protect=Placeholders()
        )
        assert [text.count("{dog}") for text in hypotheses] == [1, 1, 1]

    @pytest.mark.parametrize(
        "terms, expected",
        [
            ({"dog": "Tom"}, "Tom"),
            ({"dog": "the Tom Tom"}, "the Tom Tom"),
            ({"dog": "Tomas"}, "Tomas"),
            ({"Tom": "zzz"}, ""),
            ({"tom": "zzz"}, ""),
        ],
    )
    def test_no_name_is_a_word_of_the_glossary(
        self, translator, terms, expected
    ):
        (translation,) = translator(
            ["{name} dog"],
            protect=Placeholders(),
            glossary=Glossary(terms),
            extra_length=20,
        )
        assert translation.count("{name}") == 1
        assert translation.count("Tom") == expected.count("Tom")
        assert expected in translation
        assert "zzz" not in translation

    def test_another_type_is_refused(self, translator):
        with pytest.raises(ValueError, match="protect=True. Write Placeholde"):
            translator(["a {dog}"], protect=True)

    def test_a_parser_refuses_it(self, tmp_path):
        vocabulary = make_tree_vocabulary(tmp_path / "vocabulary")
        with pytest.raises(ValueError, match="a model that parses"):
            make_translator(vocabulary)(["a dog"], protect=Placeholders())

    @pytest.mark.parametrize(
        "other",
        [
            {"prefixes": ["two"]},
            {"return_attention": True},
            {"return_alignments": True},
            {"return_word_scores": True},
        ],
    )
    def test_arguments_about_the_texts_are_refused(self, translator, other):
        (name,) = other
        with pytest.raises(ValueError, match=f"combined with `{name}`"):
            translator(["a {dog}"], protect=Placeholders(), **other)
