"""Tests of reading treebanks with faulty trees."""

import random
import re

import pytest
import tree_examples
from tree_examples import write

from keras_transformer.parsing.treebank import read_treebank


def read(*paths, bad=None):
    return list(read_treebank(list(paths), bad))


def lose_a_bracket(rng, text):
    place = rng.choice([m.start() for m in re.finditer("[()]", text)])
    return text[:place] + text[place + 1 :]


def gain_a_bracket(rng, text):
    bracket = rng.choice("()")
    place = rng.randrange(len(text))
    if place and text[place - 1] == "\n" and bracket == "(":
        place -= 1  # a bracket at the margin begins another tree
    return text[:place] + bracket + text[place:]


def lose_the_first_bracket(rng, text):
    return text[1:]


def become_empty(rng, text):
    return rng.choice(["()\n", "( )\n", "(TOP)\n", "( (S\n    (NP)))\n"])


def become_traces(rng, text):
    return "( (S\n    (NP-SBJ (-NONE- *)) (VP (-NONE- *?*))))\n"


def gain_a_root(rng, text):
    return text[:-1] + rng.choice([" ", ""]) + "(S (NN second))\n"


def gain_a_bracket_in_a_word(rng, text):
    words = list(re.finditer(r"([^\s()]+)\)", text))
    start, end = rng.choice(words).span(1)
    place = rng.randrange(start, end + 1)
    inside = rng.choice(["(", ")", "(s)", ")x(", "()"])
    return text[:place] + inside + text[place:]


def gain_a_byte(rng, text):
    place = rng.randrange(len(text))
    content = text.encode()
    return (
        content[:place]
        + rng.choice([b"\xe4", b"\xff", b"\0"])
        + (content[place:])
    )


CORRUPTIONS = [
    lose_a_bracket,
    gain_a_bracket,
    lose_the_first_bracket,
    become_empty,
    become_traces,
    gain_a_root,
    gain_a_bracket_in_a_word,
    gain_a_byte,
]


class BadTreeTest:
    @pytest.mark.parametrize("corrupt", CORRUPTIONS)
    @pytest.mark.parametrize("layout", tree_examples.LAYOUTS)
    def test_other_trees_survive_and_faulty_lines_are_named(
        self, tmp_path, layout, corrupt
    ):
        for seed in range(25):
            rng = random.Random(seed)
            expected = tree_examples.random_trees(12, seed)
            texts = [layout(tree).encode() for tree in expected]
            place = rng.randrange(len(expected))
            first = 1 + sum(text.count(b"\n") for text in texts[:place])
            broken = corrupt(rng, texts[place].decode())
            broken = broken if isinstance(broken, bytes) else broken.encode()
            texts[place] = broken
            last = first + broken.count(b"\n") - 1
            path = write(tmp_path / "bank.mrg", b"".join(texts))
            bad = []
            assert read(path, bad=bad) == (
                expected[:place] + expected[place + 1 :]
            )
            assert bad
            for line in bad:
                assert "\n" not in line
                number = re.search(r"bank\.mrg, line (\d+)\b", line)[1]
                assert first <= int(number) <= last
            with pytest.raises(ValueError) as error:
                read(path)
            assert str(error.value) == bad[0]

    @pytest.mark.parametrize(
        "text, words",
        [
            ("(S (NN a)\n", "brackets of a tree must balance.*line 2"),
            ("()\n", "must hold words, and no empty bracket.*line 2"),
            ("( (NP (-NONE- *)))\n", "must hold a word.*line 2.*traces alone"),
            ("(S (NN a)) (S (NN b))\n", "must hold one tree and.*line 2"),
            ("(NN f(x))\n", "word must hold no bracket.*line 2"),
            ("(NN \udcfc)\n", "line 2 is not UTF-8: byte 5 is 0xfc"),
        ],
    )
    def test_each_kind_is_named_and_counted(self, tmp_path, text, words):
        text = f"(NN before)\n{text}(NN after)\n"
        path = write(tmp_path / "b", text.encode(errors="surrogateescape"))
        bad = []
        assert [t.words() for t in read(path, bad=bad)] == [
            ["before"],
            ["after"],
        ]
        assert len(bad) == 1 and re.search(words, bad[0])

    def test_other_encodings_lose_only_trees_with_such_letters(self, tmp_path):
        text = "(NN dog)\n(NN élan)\n(NN cat)\n"
        for encoding, kept in (("latin-1", 2), ("utf-16", 0), ("utf-8-sig", 3)):
            path = write(tmp_path / encoding, text.encode(encoding))
            good = write(tmp_path / "good", "(NN bird)\n")
            bad = []
            assert len(read(good, path, bad=bad)) == 1 + kept
            assert bad or kept == 3
            assert all("is not UTF-8" in line for line in bad)

    @pytest.mark.parametrize(
        "content, advised",
        [
            ("(NN dog)\n(NN élan)\n".encode("latin-1"), "ISO-8859-1"),
            ("(NN élan)\n".encode("utf-16"), "UTF-16"),
            ("(NN élan)\n".encode("utf-16-le"), "UTF-16"),
        ],
    )
    def test_the_advice_names_the_encoding(self, tmp_path, content, advised):
        with pytest.raises(ValueError, match=f"iconv -f {advised} -t UTF-8"):
            read(write(tmp_path / "bank", content))

    def test_file_without_a_tree_is_named(self, tmp_path):
        paths = [write(tmp_path / name, "\n \n") for name in ("a", "b")]
        good = write(tmp_path / "good", "(NN bird)\n")
        with pytest.raises(ValueError, match="/a holds no tree"):
            read(good, *paths)
        bad = []
        assert len(read(good, *paths, bad=bad)) == 1
        assert len(bad) == 2

    def test_treebank_without_a_good_tree_is_an_error(self, tmp_path):
        path = write(tmp_path / "a", "()\n()\n")
        with pytest.raises(ValueError, match="All 2 trees.*a, line 1") as error:
            read(path, bad=[])
        assert "\n" not in str(error.value)

    def test_damaged_or_missing_file_is_always_an_error(self, tmp_path):
        path = tmp_path / "a.gz"
        write(path, "(NN dog)\n" * 9999)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ValueError, match="a.gz is damaged after"):
            read(str(path), bad=[])
        with pytest.raises(ValueError, match="no treebank at .*none.mrg"):
            read(str(tmp_path / "none.mrg"), bad=[])

    @tree_examples.needs_sample
    def test_sample_loses_only_the_tree_that_is_corrupted(self, tmp_path):
        text = (tree_examples.SAMPLE / "wsj_0003.mrg").read_text()
        expected = read(write(tmp_path / "good", text))
        starts = [m.start() for m in re.finditer(r"^\(", text, re.M)]
        starts.append(len(text))
        rng = random.Random(0)
        for seed in range(60):
            place = rng.randrange(len(expected))
            start, end = starts[place : place + 2]
            corrupt = rng.choice([lose_a_bracket, gain_a_bracket])
            broken = corrupt(rng, text[start:end].rstrip() + "\n")
            path = write(tmp_path / "b", text[:start] + broken + text[end:])
            bad = []
            assert read(path, bad=bad) == (
                expected[:place] + expected[place + 1 :]
            )
            assert bad
