"""Parallel text in two files, TSV or TMX."""

import gzip
import tracemalloc

import pytest

from keras_transformer.data.text import parallel_files

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    '\n<tmx version="1.4">\n<header segtype="sentence"/>\n<body>\n'
)
TAIL = "</body>\n</tmx>\n"


def unit(**texts):
    """Returns a translation unit; `_` in a language stands for `-`."""
    variants = "".join(
        f'<tuv xml:lang="{code.replace("_", "-")}"><seg>{text}</seg></tuv>\n'
        for code, text in texts.items()
    )
    return f"<tu>{variants}</tu>\n"


def tmx(directory, *units, name="text.tmx"):
    path = directory / name
    path.write_text(HEAD + "".join(units) + TAIL, encoding="utf-8")
    return str(path)


def read_tmx(path, *languages):
    return list(parallel_files.read_pairs((path,), languages or ("en", "de")))


def write(path, content):
    path.write_bytes(content)
    return str(path)


class KindTest:
    @pytest.mark.parametrize(
        "paths, kind",
        [
            (("a.en", "a.de"), "text"),
            (("a.tsv", "b.tsv"), "text"),
            (("dir.tmx/a.tsv",), "tsv"),
            (("A.TSV.GZ",), "tsv"),
            (("a.tmx.gz",), "tmx"),
        ],
    )
    def test_the_ending_of_a_single_file_tells(self, paths, kind):
        assert parallel_files.detect_kind(paths) == kind

    @pytest.mark.parametrize(
        "paths",
        [
            ("a.en",),
            ("a", "b", "c"),
            ("a", ""),
            ("tsv",),
            ("",),
            ("a.tsv", "a.tsv"),
        ],
    )
    def test_anything_else_is_an_error(self, paths):
        with pytest.raises(ValueError, match="with a comma in between"):
            parallel_files.detect_kind(paths)


class TsvTest:
    def test_a_line_is_a_pair(self, tmp_path):
        path = write(tmp_path / "a.tsv", b"one\teins\r\n\ntwo\t\n\tdrei\n")
        assert list(parallel_files.read_pairs((path,))) == [
            ("one", "eins"),
            ("", ""),
            ("two", ""),
            ("", "drei"),
        ]
        parallel_files.check_pairs((path,))

    def test_a_compressed_file_is_the_same(self, tmp_path):
        content = b"one\teins\n"
        path = write(tmp_path / "a.tsv.gz", gzip.compress(content))
        assert list(parallel_files.read_pairs((path,))) == [("one", "eins")]

    @pytest.mark.parametrize("line, tabs", [(b"one", 0), (b"1\ta\tb", 2)])
    def test_another_number_of_tabs_is_an_error(self, tmp_path, line, tabs):
        path = write(tmp_path / "a.tsv", b"one\teins\n" + line)
        with pytest.raises(ValueError, match=f"a.tsv, line 2, with {tabs} tab"):
            parallel_files.check_pairs((path,))

    def test_no_text_at_all_is_an_error(self, tmp_path):
        path = write(tmp_path / "a.tsv", b"one\t\n\t\n")
        with pytest.raises(ValueError, match="a.tsv has .* but 2 pairs with"):
            parallel_files.check_pairs((path,))


class TmxTest:
    def test_the_languages_choose_the_sides(self, tmp_path):
        path = tmx(tmp_path, unit(de="eins", en="one"), unit(de="z", en="t"))
        assert read_tmx(path) == [("one", "eins"), ("t", "z")]
        assert read_tmx(path, "de", "en") == [("eins", "one"), ("z", "t")]

    def test_a_language_stands_for_its_regions(self, tmp_path):
        path = tmx(tmp_path, unit(EN_us="colour", de_AT="Farbe", den="no"))
        assert read_tmx(path) == [("colour", "Farbe")]
        assert read_tmx(path, "en_US", "de") == [("colour", "Farbe")]

    def test_the_exact_code_is_better_than_a_variant(self, tmp_path):
        path = tmx(tmp_path, unit(pt_PT="facto", pt="fato", en_GB="a", en="b"))
        assert read_tmx(path, "pt", "en") == [("fato", "b")]
        assert read_tmx(path, "pt-PT", "en-GB") == [("facto", "a")]

    def test_the_first_of_several_variants_counts(self, tmp_path):
        better = unit(de="d")[len("<tu>") :]
        path = tmx(tmp_path, unit(en="a", de="b")[: -len("</tu>\n")] + better)
        assert read_tmx(path) == [("a", "b")]

    def test_a_unit_without_one_of_the_languages_is_left_out(self, tmp_path):
        path = tmx(tmp_path, unit(en="a", fr="b"), unit(en="c", de="d"))
        assert read_tmx(path) == [("c", "d")]

    def test_entities_breaks_and_codes_become_plain_text(self, tmp_path):
        segment = (
            'R&amp;D <bpt i="1">&lt;b&gt;</bpt>at <hi>our<ph>x</ph></hi>'
            '<ept i="1">&lt;/b&gt;</ept>\n    house '
        )
        path = tmx(tmp_path, unit(en=segment, de="&#252;ber"))
        assert read_tmx(path) == [("R&D at our house", "über")]

    @pytest.mark.parametrize(
        "segment, text",
        [
            ('Press <g id="1">OK</g> now<x id="2"/>.', "Press OK now."),
            ('<mrk mtype="term">OK <g id="2">so</g></mrk>!', "OK so!"),
            ('a <pc id="1">b</pc><sc id="2"/> <new>c</new><ec/>', "a b c"),
            ('<it pos="begin">&lt;b&gt;</it>a<ut>{\\b</ut>b', "ab"),
            ("one<ph>&lt;br/&gt;</ph>two", "one two"),
            ('one<ph type="lb"/>two <x ctype="x-lb"/> three', "one two three"),
            ("one<ut>\\line </ut>two<ut>\\bold</ut>s", "one twos"),
            ("one<br/>two<lb/>three", "one two three"),
            ('<bpt i="1">&lt;p&gt;</bpt>one<ept i="1">&lt;/p&gt;</ept>', "one"),
            ("a<ph>&lt;br/&gt;<sub>b</sub></ph>c<?pi d?><!-- e -->f", "a cf"),
            ("", ""),
        ],
    )
    def test_only_codes_are_left_out(self, tmp_path, segment, text):
        path = tmx(tmp_path, unit(en=segment, de="x"))
        assert read_tmx(path) == [(text, "x")]

    @pytest.mark.parametrize(
        "segment, text, is_lossy",
        [
            ("Price\x0blist", "Price list", True),
            ("a\x1fb\ufffec&#x1F;d&#0;e", "a b c d e", True),
            ("&#xD83D;&#xDE00;a&#55357;&#56832;", "😀a😀", False),
            ("&#xD83D;a &#xDE00;&#xD83D;", "a", True),
            ("&#x110000;a&#99999999;", "a", True),
            (
                "a&nbsp;b&eacute; &lt;&amp;nbsp;&#169;&#xd7;",
                "a\xa0bé <&nbsp;©×",
                False,
            ),
            (
                "<![CDATA[a\x0bb &lt;&#60;&#169;&quot;&nbsp;x]]>",
                "a b &lt;&#60;&#169;&quot;\xa0x",
                True,
            ),
        ],
    )
    def test_what_xml_forbids_costs_no_unit(
        self, tmp_path, caplog, segment, text, is_lossy
    ):
        path = tmx(tmp_path, unit(en="a", de="b"), unit(en=segment, de="x"))
        assert read_tmx(path) == [("a", "b"), (text, "x")]
        assert ("forbids, which are read as spaces" in caplog.text) == is_lossy

    def test_a_variant_without_a_segment_is_no_text(self, tmp_path):
        empty = '<tu><tuv xml:lang="en"/><tuv xml:lang="de"/></tu>'
        half = '<tu><tuv xml:lang="en"/><tuv xml:lang="de"><seg>b</seg></tuv>'
        better = '<tu><tuv xml:lang="en"/>' + unit(en_US="c", de="d")[4:]
        path = tmx(tmp_path, empty, half + "</tu>", better)
        assert read_tmx(path) == [("c", "d")]

    def test_a_namespace_changes_nothing(self, tmp_path):
        content = HEAD + unit(en="a <hi>b</hi><ph>x</ph>", de="c") + TAIL
        content = content.replace(
            "<tmx ", '<tmx xmlns="http://www.lisa.org/tmx14" '
        )
        path = write(tmp_path / "a.tmx", content.encode())
        assert read_tmx(path) == [("a b", "c")]

    @pytest.mark.parametrize(
        "declared, codec",
        [
            ("UTF-16", "utf-16"),
            ("UTF-16", "utf-16-le"),
            ("utf-16", "utf-16-be"),
            ("UTF-32", "utf-32"),
            ("UTF-32", "utf-32-be"),
            ("UTF-8", "utf-8-sig"),
            ("UTF-16", "utf-8"),
            ("windows-1252", "cp1252"),
            ("ISO-8859-15", "iso8859-15"),
            ("IBM037", "cp037"),
            ("Shift_JIS", "shift_jis"),
            ("GB18030", "gb18030"),
            ("Big5", "big5"),
            ("KOI8-R", "koi8-r"),
        ],
    )
    @pytest.mark.parametrize("compress", [bytes, gzip.compress])
    def test_the_declaration_names_the_encoding(
        self, tmp_path, declared, codec, compress
    ):
        words = {"shift_jis": "言葉", "big5": "漢字", "koi8-r": "слово"}
        word = words.get(codec, "für")
        content = (HEAD + unit(en="a", de=word) + TAIL).replace(
            "UTF-8", declared
        )
        content = compress(content.encode(codec))
        path = write(tmp_path / "a.tmx", content)
        assert read_tmx(path) == [("a", word)]

    @pytest.mark.parametrize(
        "declared",
        [
            "no-such",
            "rot13",
            "zlib",
            "unicode_escape",
            "Unicode-Escape",
            "unicode--escape",
            "raw unicode escape",
            "ascii",
        ],
    )
    def test_a_wrong_declaration_is_an_error(self, tmp_path, declared):
        content = (HEAD + unit(en="a", de="für") + TAIL).replace(
            "UTF-8", declared
        )
        path = write(tmp_path / "a.tmx", content.encode())
        words = f"cannot be read in its encoding, {declared.lower()}. Correct"
        with pytest.raises(ValueError, match=words):
            read_tmx(path)

    def test_old_attributes_and_compression_are_read(self, tmp_path):
        text = (HEAD + unit(en="a", de="b") + TAIL).replace("xml:lang", "lang")
        path = tmp_path / "a.tmx.gz"
        path.write_bytes(gzip.compress(text.encode()))
        assert read_tmx(str(path)) == [("a", "b")]

    def test_memory_does_not_grow_with_the_file(self, tmp_path):
        path = tmx(tmp_path, unit(en="one " * 50, de="eins " * 50) * 3000)
        tracemalloc.start()
        try:
            units = parallel_files.read_pairs((path,), ("en", "de"))
            assert sum(1 for _ in units) == 3000
            _, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        # The file has 1.5 MB, and a tree of it takes several times as much.
        assert most < 500_000

    def test_no_languages_is_an_error(self, tmp_path):
        path = tmx(tmp_path, unit(en="a", de="b"))
        with pytest.raises(ValueError, match="Add --source_language=en"):
            list(parallel_files.read_pairs((path,)))

    def test_absent_languages_are_an_error_that_names_those_there(
        self, tmp_path
    ):
        path = tmx(tmp_path, unit(en="a", de="b"))
        with pytest.raises(
            ValueError, match="language=fr, while the file has de, en"
        ):
            read_tmx(path, "en", "fr")

    @pytest.mark.parametrize(
        "content, words",
        [
            (HEAD + "<tu>", "line 7 .*no element found"),
            (HEAD + "<tu></tuv>", "line 6 .*mismatched tag"),
            (HEAD + unit(en="R&D", de="b") + TAIL, "not well-formed"),
            (HEAD + unit(en="&none;", de="b") + TAIL, "undefined entity"),
            ("", "line 1 .*no element found"),
            ("one\teins\n", "line 1 .*syntax error"),
            ("<html><p>404</p></html>", "the file has none"),
        ],
    )
    def test_a_faulty_file_is_an_error_of_one_line(
        self, tmp_path, content, words
    ):
        path = write(tmp_path / "a.tmx", content.encode())
        with pytest.raises(ValueError, match=words) as error:
            read_tmx(path)
        assert "\n" not in str(error.value)

    def test_elements_too_deep_within_each_other_are_an_error(self, tmp_path):
        depth = 100_000
        segment = "<hi>" * depth + "x" + "</hi>" * depth
        path = tmx(tmp_path, unit(en="a", de="b"), unit(en=segment, de="b"))
        with pytest.raises(ValueError, match="text.tmx, unit 2 has hundreds"):
            read_tmx(path)

    def test_entities_that_explode_are_an_error(self, tmp_path):
        entities = '<!ENTITY a0 "lol">' + "".join(
            f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)
        )
        content = f"<!DOCTYPE tmx [{entities}]><tmx><body>&a9;</body></tmx>"
        path = write(tmp_path / "a.tmx", content.encode())
        with pytest.raises(ValueError, match="a.tmx, line 1 .*: limit"):
            read_tmx(path)
