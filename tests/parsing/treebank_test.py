"""Tests of finding and reading treebanks."""

import pytest
import tree_examples
from tree_examples import write

from keras_transformer.parsing.treebank import fingerprint
from keras_transformer.parsing.treebank import list_treebank_files
from keras_transformer.parsing.treebank import read_treebank


def read(*paths, bad=None):
    return list(read_treebank(list(paths), bad))


class LayoutTest:
    def test_layouts_and_compression_make_no_difference(self, tmp_path):
        expected = [
            t
            for t in tree_examples.random_trees(40)
            if not t.children[0].is_preterminal
        ]
        for layout in tree_examples.LAYOUTS:
            text = "".join(layout(tree) for tree in expected)
            for name in ("plain.mrg", "compressed.mrg.gz"):
                assert read(write(tmp_path / name, text)) == expected
            windows = text.replace("\n", "\r\n")
            assert read(write(tmp_path / "windows", windows)) == expected
            apart = text.replace("\n(", "\n\n(")
            assert read(write(tmp_path / "apart", apart)) == expected


COMMENTS = {
    "negra": "%% word (tag)\n%% Sent 1\n{}\n\n%% Sent 2\n{}\n",
    "chinese": "<DOC>\n<DOCID> chtb_001 </DOCID>\n<HEADLINE>\n<S ID=1>\n{}\n"
    "</S>\n<P><S ID=2>\n{}\n</S>\n</P></DOC>\n",
    "penn": "*x*x*x*x*x*\n*x* Copyright (C) 1995 *x*\n\n{}\n# one (more)\n{}",
    "after": "{}\n{}\n%% end of file",
}
FORMS = ["( (S (NN a) (VB b)) )", "( (S\n    (NN a)\n    (VB b)) )"]


class CommentsTest:
    @pytest.mark.parametrize("comments", COMMENTS.values(), ids=COMMENTS)
    @pytest.mark.parametrize("form", FORMS)
    def test_lines_between_trees_are_left_out(self, tmp_path, comments, form):
        path = write(tmp_path / "a.mrg", comments.format(form, form))
        assert list(map(str, read(path))) == 2 * ["(TOP (S (NN a) (VB b)))"]

    def test_a_comment_ends_a_faulty_tree(self, tmp_path):
        faulty = COMMENTS["negra"].format(FORMS[1][:-2], FORMS[0])
        path = write(tmp_path / "a.mrg", faulty)
        bad = []
        assert len(read(path, bad=bad)) == 1
        assert len(bad) == 1 and "line 3, where 4 are opened" in bad[0]

    def test_a_word_is_no_comment(self, tmp_path):
        text = "(S (SYM %)\n   (NN <b>) (NN\n   <i>) ($ #))"
        path = write(tmp_path / "a.mrg", text)
        assert list(map(str, read(path))) == [
            "(TOP (S (SYM %) (NN <b>) (NN <i>) ($ #)))"
        ]

    @pytest.mark.parametrize("root", ["", "TOP", "ROOT"])
    def test_the_number_of_a_tree_is_no_word(self, tmp_path, root):
        text = f"({root} (S (NN a) (ID x1)) (ID CMROLLS,1.1))"
        path = write(tmp_path / "a.mrg", text)
        assert list(map(str, read(path))) == ["(TOP (S (NN a) (ID x1)))"]

    @pytest.mark.parametrize(
        "text",
        ["( (CODE <P_12>) {})", "( (S (CODE {{x}}) (NN a) (X (CODE y))))"],
    )
    def test_notes_of_annotators_are_no_words(self, tmp_path, text):
        path = write(tmp_path / "a.mrg", text.format("(S (NN a))"))
        assert list(map(str, read(path))) == ["(TOP (S (NN a)))"]


class PathsTest:
    def sections(self, tmp_path):
        for section in ("00", "01", "02", "10"):
            for number in range(3):
                word = f"{section}{number:02}"
                write(
                    tmp_path / "wsj" / section / f"wsj_{word}.mrg",
                    f"( (NP (NN {word})))\n",
                )
        return str(tmp_path / "wsj")

    def words(self, *paths):
        return [word for tree in read(*paths) for word in tree.words()]

    def test_directory_is_walked_in_the_order_of_names(self, tmp_path):
        sections = self.sections(tmp_path)
        words = self.words(sections)
        assert words == sorted(words) and len(words) == 12

    def test_range_takes_folders_or_files_by_their_numbers(self, tmp_path):
        sections = self.sections(tmp_path)
        assert self.words(f"{sections}:01-02") == self.words(
            f"{sections}/01", f"{sections}/02"
        )
        assert self.words(f"{sections}:10") == self.words(f"{sections}/10")
        assert self.words(f"{sections}/10:1001-9999") == ["1001", "1002"]

    def test_number_is_that_of_the_last_digits(self, tmp_path):
        for name in ("v2_part_7.mrg.gz", "v2_part_008.trees", "v3", "9.log"):
            write(tmp_path / name, f"(NN {name})\n")
        assert self.words(f"{tmp_path}:7-9") == [
            "v2_part_008.trees",
            "v2_part_7.mrg.gz",
        ]

    def test_a_path_to_a_file_is_read_whatever_its_name(self, tmp_path):
        path = write(tmp_path / "02-21.10way.clean", "(NN dog)\n")
        other = write(tmp_path / "a:1-2", "(NN cat)\n")
        write(tmp_path / "b:1-2" / "3.mrg", "(NN bird)\n")
        folder = str(tmp_path / "b:1-2")
        assert self.words(path, other, folder) == ["dog", "cat", "bird"]

    def test_folders_may_be_links(self, tmp_path):
        sections = self.sections(tmp_path)
        (tmp_path / "links").mkdir()
        (tmp_path / "links" / "23").symlink_to(f"{sections}/02")
        linked = self.words(f"{tmp_path}/links:23")
        assert linked == self.words(f"{sections}/02")

    def test_links_to_folders_above_are_left_alone(self, tmp_path):
        sections = self.sections(tmp_path)
        before = self.words(sections)
        (tmp_path / "wsj" / "all").symlink_to(".")
        (tmp_path / "wsj" / "01" / "other").symlink_to(tmp_path)
        (tmp_path / "wsj" / "first").symlink_to("00")
        first = self.words(f"{sections}/00")
        for end in ("", "/"):
            assert self.words(sections + end) == before + first

    def test_other_files_of_a_directory_are_left_alone(self, tmp_path):
        sections = self.sections(tmp_path)
        before = list_treebank_files([sections])
        for name in ("MERGE.LOG", "README", ".hidden.mrg", ".git/a.mrg"):
            write(tmp_path / "wsj" / name, "no tree")
        assert list_treebank_files([sections]) == before

    @pytest.mark.parametrize(
        "path, words",
        [
            ("nothing", "Name a file or a directory"),
            ("nothing:1-2", "Name a file or a directory"),
            ("wsj:03-09", "holds no file.*numbers"),
            ("wsj:02-01", "holds no file.*numbers"),
            ("wsj:a-b", "Name a file or a directory"),
            pytest.param(f"wsj:{5000 * '1'}", "Name a file", id="long"),
            ("empty", "holds no trees"),
        ],
    )
    def test_path_without_files_is_named(self, tmp_path, path, words):
        self.sections(tmp_path)
        (tmp_path / "empty").mkdir()
        with pytest.raises(ValueError, match=f"{path}.*{words}") as error:
            read(str(tmp_path / path))
        assert "\n" not in str(error.value)

    @tree_examples.needs_sample
    def test_sample_is_split_by_its_files(self):
        train = read(f"{tree_examples.SAMPLE}:0001-0159")
        dev = read(f"{tree_examples.SAMPLE}:0160-0179")
        assert (len(train), len(dev)) == (3396, 273)
        assert train + dev == tree_examples.sample()


class FingerprintTest:
    def test_depends_on_contents_but_not_on_places(self, tmp_path):
        prints = {}
        for place, texts in {
            "one": ["(NN a)\n", "(NN b)\n"],
            "same": ["(NN a)\n", "(NN b)\n"],
            "swapped": ["(NN b)\n", "(NN a)\n"],
            "fewer": ["(NN a)\n"],
            "joined": ["(NN a)\n(NN b)\n"],
        }.items():
            for number, text in enumerate(texts):
                write(tmp_path / place / f"{number}.mrg", text)
            prints[place] = fingerprint("x", [str(tmp_path / place)])
        assert prints["one"] == prints["same"]
        assert len({value["sha256"] for value in prints.values()}) == 4
        assert prints["one"]["name"] == "x"
