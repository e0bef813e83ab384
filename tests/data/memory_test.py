"""Corrections are kept, found again, and fitted to similar sentences."""

import multiprocessing
import os
import random
import sqlite3
import xml.etree.ElementTree

import pytest

from keras_transformer.data.memory.fitting import fit_target
from keras_transformer.data.memory.fitting import recall
from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.data.text.parallel_files import read_pairs
from keras_transformer.errors import UserError


@pytest.fixture
def memory(tmp_path):
    return TranslationMemory(tmp_path / "memory")


def add_many(path, name):
    memory = TranslationMemory(path)
    for number in range(20):
        memory.remember(f"{name} {number}", "target", origin=name)


class StoreTest:
    def test_the_last_correction_counts_and_earlier_ones_stay(self, memory):
        memory.remember("Two dogs.", "Zwei Hunde", origin="Ann")
        memory.remember(" Two dogs. ", "Zwei Hunde.", origin="Ben")
        pair = memory.find("Two dogs.")
        assert (pair.target, pair.origin) == ("Zwei Hunde.", "Ben")
        assert pair.time.endswith("+00:00")
        assert [each.target for each in memory] == ["Zwei Hunde."]
        assert memory.count() == 2
        assert [m.pair for m in memory.find_similar("Two dogs.")] == [pair]

    def test_two_spellings_of_a_letter_are_one_sentence(self, memory):
        both = ["Där är caf\u00e9t.", "Da\u0308r a\u0308r cafe\u0301t."]
        for source, other in (both, both[::-1]):
            memory.remember(source, "There it is.")
            assert memory.find(other) == memory.find(source)
            (match,) = memory.find_similar(other)
            assert match.similarity == 1.0

    def test_the_most_similar_sentence_comes_first(self, memory):
        sources = ["the red house", "a dog", "the red dog runs", "红色的房子"]
        memory.remember_all((one, one) for one in sources)
        matches = memory.find_similar("the red dog runs fast")
        found = [match.pair.source for match in matches]
        assert found == ["the red dog runs", "the red house"]
        assert matches[0].similarity == pytest.approx(8 / 9)
        (match,) = memory.find_similar("红色的房屋")
        assert match.pair.source == "红色的房子"

    def test_of_equally_similar_ones_the_last_correction_counts(self, memory):
        for name, target in (("tcl", "Alt"), ("perl", "Mitte"), ("tcl", "Neu")):
            memory.remember(f"Use {name} 8.", f"{target} {name} 8.")
        found = [one.pair.target for one in memory.find_similar("Use lua 8.")]
        assert found == ["Neu tcl 8.", "Mitte perl 8."]
        assert recall(memory, "Use lua 8.", "lua").target == "Neu lua 8."

    @pytest.mark.parametrize("text", ["", " ", "a " * 100_000])
    def test_no_text_without_words_or_with_too_many_is_similar(
        self, memory, text
    ):
        memory.remember("a a a", "b")
        assert memory.find_similar(text) == []

    def test_an_old_sentence_is_found_among_many_alike(self, memory):
        memory.remember("open the old file of the moon", "Mond")
        memory.remember_all(
            (f"open the file number {number}", "x") for number in range(2000)
        )
        (match,) = memory.find_similar("open the old file of the sun", 1)
        assert match.pair.target == "Mond"

    def test_a_pair_is_found_by_a_sentence_of_which_a_word_changed(
        self, memory
    ):
        draw = random.Random(0)
        words = [f"w{number}" for number in range(300)]
        texts = [
            " ".join(draw.choices(words, k=draw.randrange(6, 12)))
            for _ in range(1000)
        ]
        memory.remember_all((text, text) for text in texts)
        num_found = 0
        for text in texts[:100]:
            changed = text.split()
            changed[draw.randrange(len(changed))] = "other"
            matches = memory.find_similar(" ".join(changed), 5)
            num_found += text in [match.pair.source for match in matches]
        assert num_found >= 95

    def test_it_outlives_its_process_and_is_exported(self, memory, tmp_path):
        memory.remember("A < B & C\x01.", "A < B und C.", origin='"Ann"\x01')
        memory.close()
        path = tmp_path / "memory.tmx"
        TranslationMemory(memory.path).write_tmx(path, "en", "de")
        (pair,) = read_pairs([str(path)], ("en", "de"))
        assert pair == ("A < B & C .", "A < B und C.")
        xml.etree.ElementTree.parse(path)  # which repairs no faults

    def test_processes_that_write_at_once_lose_nothing(self, memory):
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=add_many, args=(memory.path, name))
            for name in ("Ann", "Ben")
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert memory.count() == 40
        for name in ("Ann", "Ben"):
            assert memory.find(f"{name} 19").origin == name

    def test_all_pairs_are_added_or_none(self, memory):
        with pytest.raises(UserError, match="target=''"):
            memory.remember_all([("a dog", "ein Hund"), ("a cat", "")])
        with pytest.raises(UserError, match="must be Unicode"):
            memory.remember("a dog", "\ud800")
        assert not memory.count()

    def test_an_interrupted_correction_keeps_nobody_waiting(self, memory):
        with pytest.raises(UnicodeError):
            memory.remember("a dog", "ein Hund", origin="\ud800")
        TranslationMemory(memory.path).remember("a cat", "eine Katze")
        assert memory.count() == 1

    @pytest.mark.parametrize("name", [":memory:", "file:a?mode=memory"])
    def test_each_name_is_a_file(self, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        TranslationMemory(name).remember("a dog", "ein Hund")
        assert os.listdir() == [name]
        assert TranslationMemory(name).count() == 1


class FaultyFileTest:
    def test_a_memory_that_has_to_exist_is_not_made(self, tmp_path):
        with pytest.raises(UserError, match="Check its name"):
            TranslationMemory(tmp_path / "memory", must_exist=True)
        assert not os.listdir(tmp_path)

    def test_the_file_of_another_program_stays_as_it_is(self, tmp_path):
        path = tmp_path / "other"
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE recipes (name)")
        connection.close()
        content = path.read_bytes()
        with pytest.raises(UserError, match="another program"):
            TranslationMemory(path)
        assert path.read_bytes() == content

    def test_a_newer_version_is_not_read(self, memory):
        with sqlite3.connect(memory.path) as connection:
            connection.execute("PRAGMA user_version = 2")
        with pytest.raises(UserError, match="newer version"):
            TranslationMemory(memory.path)

    @pytest.mark.parametrize("place", [0, 4096])
    def test_a_damaged_file_is_named(self, memory, place):
        memory.remember("a dog", "ein Hund")
        memory.close()
        with open(memory.path, "r+b") as file:
            file.seek(place)
            file.write(b"\xff" * 4096)
        with pytest.raises(UserError, match="cannot be used: .*Check the file"):
            TranslationMemory(memory.path).remember("a cat", "eine Katze")

    def test_a_file_that_cannot_be_written_still_serves(self, memory):
        memory.remember("a dog", "ein Hund")
        memory._connection.execute("PRAGMA query_only = 1")
        with pytest.raises(UserError, match="readonly.*Nothing was added"):
            memory.remember("a cat", "eine Katze")
        assert memory.find("a dog").target == "ein Hund"


AT_NOON = "Come at 12 pm!", "Kommt um 12 Uhr!"
STORED = "Use the tcl library.", "Usate la libreria tcl."


class FittingTest:
    @pytest.mark.parametrize(
        "source, translation, expected",
        [
            # The model copies the name.
            ("Use the lua library.", "Usa lua.", "Usate la libreria lua."),
            # It looks like code.
            ("Use the GTK library.", "Usa.", "Usate la libreria GTK."),
            ("Use the x-2 library.", "Usa.", "Usate la libreria x-2."),
            ("Use  the tcl library.", "", "Usate la libreria tcl."),
            # "new" has to be translated.
            ("Use the new library.", "Usa la nuova libreria.", None),
            # "library" is not in the stored target.
            ("Use the tcl package.", "Usa il package tcl.", None),
            # A word is missing, or one more is there.
            ("Use the library.", "Usa la libreria.", None),
            ("Use the old tcl library.", "Usa la libreria old tcl.", None),
            ("Use the tcl library!", "Usa la libreria tcl!", None),
        ],
    )
    def test_only_names_are_exchanged(self, source, translation, expected):
        assert fit_target(*STORED, source, translation) == expected

    def test_a_name_is_exchanged_in_all_places_or_nowhere(self):
        stored = "x1 and x1 or x2", "x1 e x1 o x2"
        assert fit_target(*stored, "x3 and x3 or x4", "") == "x3 e x3 o x4"
        assert fit_target(*stored, "x3 and x4 or x2", "") is None
        assert fit_target(*stored, "x3 and x1 or x2", "") is None

    @pytest.mark.parametrize(
        "stored, source",
        [
            # The other word has the name in it.
            (("Add tk and tcl-tk.", "Usa tk e tcl-tk."), "Add X1 and tcl-tk."),
            (("Take 3 of 3.5.", "Prendi 3 di 3.5."), "Take 4 of 3.5."),
            # One of the numbers in the target is "three".
            (("Three or 3 dogs", "3 o 3 cani"), "Three or 5 dogs"),
        ],
    )
    def test_no_other_word_is_exchanged(self, stored, source):
        assert fit_target(*stored, source, source) is None

    @pytest.mark.parametrize(
        "number, translation, expected",
        [
            ("11", "Kommt um 11 Uhr.", "Kommt um 11 Uhr!"),
            ("3", "Kommt um 15 Uhr.", None),
            ("X3", "Kommt um X3 Uhr.", None),
        ],
    )
    def test_a_number_is_exchanged_as_the_model_writes_it(
        self, number, translation, expected
    ):
        source = f"Come at {number} pm!"
        assert fit_target(*AT_NOON, source, translation) == expected

    def test_part_of_a_word_is_no_name(self):
        stored = "a b1 is here", "ab1 b1 è qui"
        assert fit_target(*stored, "a b2 is here", "") == "ab1 b2 è qui"

    def test_a_less_similar_sentence_may_fit(self, memory):
        memory.remember("Now use the new X1 tool", "Usa ora il nuovo tool X1")
        memory.remember("Now use the old X3 tool", "Ora usa X3")
        found = recall(memory, "Now use the new X2 tool", "")
        assert found.target == "Usa ora il nuovo tool X2"
        assert found.match.similarity == pytest.approx(5 / 6)
        assert recall(memory, "X2 X3 X4 X5 new tool", "") is None
