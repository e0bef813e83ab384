"""Markdown: what is translated, what stays, and where markup goes."""

import pytest

from keras_transformer.documents.document import Document

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")


# White space that a paragraph of Markdown may have a line of.
WHITE_SPACE = ["\u00a0", "\u3000", "\u2003", "\u2028", "\x0b", "\x85"]


def sentences_of(text):
    return Document(text, "markdown").sentences


def translated(text, *translations):
    return Document(text, "markdown").replace_sentences(list(translations))


class MarkdownTest:
    @pytest.mark.parametrize(
        "text",
        [
            "```\nA dog.\n```",
            "    A dog.",
            "***",
            "`A dog.`",
            "<http://a.org>",
            "http://a.org/page",
            "[a]: http://a.org 'A dog.'",
            "---\nlayout: A dog.\n---",
            "+++\nlayout = 'A dog.'\n+++",
            '{\n  "layout": "A dog."\n}',
            "::: A dog.\n:::",
            "!!! note 'A dog.'",
            "$$\nA dog = x\n$$",
            "{% raw %}\nA dog.\n\nA cat.\n{% endraw %}",
            "import Dog from './A dog.';",
            "<!-- A dog. -->",
            "<script>\nA dog.\n</script>",
            "{/* A dog.\n\nA cat. */}",
            "{a.map(dog => <li>{dog}</li>)}",
            "import Dog, {\n  cat\n} from './A dog.'",
            "export const dog = {\n  cat: 'A dog.',\n\n  run: 1,\n}",
            "export default function Dog() {\n\n  return <b>A dog.</b>\n}",
            "[^1]: https://a.org/dog",
            "[^1]: <https://a.org/dog> \n[^2]: ../dog.md",
            "www.example.org/dog",
            "---\ntitle: *dog\nsummary: true\n---",
            "![A dog.]\n\n[a dog.]: a.png",
            "/// A dog.\n///",
            '@import "A dog.md"',
            '--8<-- "A dog.md"',
            "<<< @/a/dog.js{2,3}",
            "(a-dog)=",
            "\\begin{align}\na dog &= b\n\\end{align}",
            "---yaml\nlayout: A dog.\n---",
            "---json\n{'layout': 'A dog.'}\n---",
            "\n---\nlayout: A dog.\n---",
            ";;;\n'layout': 'A dog.'\n;;;",
            "% A dog.\n% A cat.",
        ],
    )
    @pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=repr)
    def test_no_sentence_is_found_in(self, text, line_end):
        text = f"{text}\n\n".replace("\n", line_end)
        assert sentences_of(text) == []

    @pytest.mark.parametrize(
        "text",
        [
            "# A dog. #",
            "A dog.\n---",
            "> A dog.",
            "> > - A dog.",
            "1) A dog.",
            "- [x] A dog.",
            "**A dog.**",
            "[A dog.](http://a.org)",
            "A `x` dog.",
            "<div>A dog.</div>",
            "*A\ndog.*",
            "[^1]: A dog.",
            "> [!NOTE]\n> A dog.",
            "> [!tip]- A dog.",
            ":::note\nA dog.\n:::",
            "!!! note\n    A dog.",
            "{{< figure src=x >}}\nA dog.\n{{% /note %}}",
            "## A dog. {#id .class}",
            "[TOC]\n\nA dog.\n{: .lead}",
            "*[HTML]: A dog.",
            "A dog. ^block-1",
            "/// note\nA dog.\n///",
            "% Cats\n\nA dog.",
            "\n---\nA dog.\n\n---",
            "--- yaml\ntitle: A dog.\n---",
            "==A dog.==",
            "![A dog.](a.png)",
            '![](a.png "A dog.")',
            "---\ntitle: 'A dog.'\n---",
            '+++\ndescription = "A dog."\n+++',
            '+++\ntitle = """A dog."""\nsummary = \'\'\n+++',
            "+++\ntitle = 'A dog.' # A cat\n+++",
            "---\ntitle:\n  A dog.\nlayout: A cat\n---",
            "---\ntitle: A dog. # A cat\n---",
            "---\ntitle: >-\n  A dog.\n\ndraft: true\n---",
            "---\nsummary: |2 # cat\n  A dog.\n---",
            "---\n\nA dog.\n\n---",
            "![](a.png (A dog.))",
            "![A dog.](a.png){width=50%}",
            "[A dog.](a.png){: .b}",
            "**A dog.**[^1]",
            "## A dog. {width=50%}",
            "[A dog.]{.b}",
            "<Box size={4 > 3}>A dog.</Box>",
        ],
    )
    def test_one_sentence_is_found_in(self, text):
        assert sentences_of(text) == ["A dog."]
        assert translated(text, "Ein Hund.").replace("\n", " ") == text.replace(
            "\n", " "
        ).replace("A dog.", "Ein Hund.").replace("A `x` dog", "Ein `x` Hund")

    def test_cells_of_a_table_are_sentences_and_its_bars_stay(self):
        text = "| a \\| b | `x` |\n|---|:-:|\n| one **two** | x |\n"
        assert sentences_of(text) == ["a | b", "one two", "x"]
        assert translated(text, "A | B", "EINS ZWEI", "Y") == (
            "| A \\| B | `x` |\n|---|:-:|\n| EINS **ZWEI** | Y |\n"
        )

    def test_a_line_end_keeps_the_quote_sign_after_it(self):
        text = "> a long\n> sentence of words."
        assert translated(text, "ein Satz aus Wörtern.") == (
            "> ein Satz\n> aus Wörtern."
        )

    @pytest.mark.parametrize("space", WHITE_SPACE)
    @pytest.mark.parametrize("mark", ["", "> ", "- ", "  "])
    def test_other_white_space_costs_no_character(self, space, mark):
        for middle in (space, 2 * space, f"{space}A dog.{space}"):
            text = f"{mark}A line.\n{mark}{middle}\n{mark}Price: 1,250\n"
            assert translated(text, *sentences_of(text)) == text

    def test_a_link_keeps_the_label_that_was_its_text(self):
        text = "The [Label] and [this][].\n\n[label]: /a\n[this]: /b\n"
        assert translated(text, "Die Marke und dies.") == (
            "Die [Marke][Label] und [dies][this].\n\n[label]: /a\n[this]: /b\n"
        )

    def test_nested_emphasis_stays_nested(self):
        text = "a **b *c* d** e"
        assert translated(text, "A B C D E") == "A **B *C* D** E"
        assert translated(text, "A") == "***A***"

    def test_characters_that_would_be_markup_are_escaped(self):
        assert translated("A dog", "Ein *Hund* [x] <b>") == (
            r"Ein \*Hund\* \[x\] \<b\>"
        )
        assert translated("A 2 * 3 dog", "Ein 2 * 3") == "Ein 2 * 3"
        assert translated("# The # key", "Taste #") == r"# Taste \#"
        assert translated("A [dog](a)!", "Ja!") == "[Ja](a)!"
        document = Document("A [dog](a).", "markdown")
        result = document.replace_sentences(["看!狗。"], [[(0, 0), (1, 2)]])
        assert result == r"看\![狗](a)。"

    @pytest.mark.parametrize(
        "text", ["# a", "- a", "+ a", "> a", "1. a", "2) a", "= a", "3.5 a"]
    )
    def test_a_translation_begins_no_list_and_no_heading(self, text):
        from markdown_it import MarkdownIt

        result = translated("A dog", text)
        paragraph, inline, _ = MarkdownIt().parse(result)
        assert paragraph.type == "paragraph_open"
        assert "".join(child.content for child in inline.children) == text

    def test_the_parser_reads_the_same_markup_in_a_translation(self):
        from markdown_it import MarkdownIt

        text = "# A *b*\n\n- a `x`\n- [c **d**](e)\n\n> f  \n> g\n"
        document = Document(text, "markdown")
        result = document.replace_sentences(
            [s.upper() for s in document.sentences]
        )
        types = [
            [token.type for token in MarkdownIt().parse(each)]
            for each in (text, result)
        ]
        assert types[0] == types[1]

    @pytest.mark.parametrize(
        "part",
        [
            "$x_1 + y$",
            "\\(x_1\\)",
            "[[Page|Name]]",
            ":smile:",
            "H~2~O",
            "{{ user.name }}",
            "[@doe99, p. 3]",
            "[-@doe99]",
            "@fig-dog",
            "@dog/cat",
            "<kbd>Ctrl</kbd>",
            "<kbd>Ctrl</kbd>+<kbd>C</kbd>",
            "`a`/`b`",
            "++ctrl+c++",
            "{ref}`a dog <x>`",
            "{product.name}",
            "<>",
            "<span translate='no'>cat</span>",
            "<a epub:type='noteref' href='#n'>1</a>",
            "{a ? 'b' : `c ${d}`}",
            "`x`{.python}",
            "![](dog.png){width=50% fig-align='left'}",
            "\\ref{dog}",
            "C<sub>2</sub>H<sub>5</sub>OH",
            "(CH<sub>3</sub>)<sub>2</sub>CO",
            "C~2~H~5~OH",
            "www.example.org/a_b",
        ],
    )
    def test_extensions_stay_within_a_sentence(self, part):
        text = f"The big {part} dog."
        assert sentences_of(text) == ["The big dog."]
        assert translated(text, "DER GROSSE HUND.") == (
            f"DER GROSSE {part} HUND."
        )

    def test_blocks_of_extensions_are_apart(self):
        text = "> [!note] A dog\n> runs.\n\nTerm\n: A cat\n"
        assert sentences_of(text) == ["A dog", "runs.", "Term", "A cat"]
        assert translated(text, *"ABCD") == ("> [!note] A\n> B\n\nC\n: D\n")

    def test_prose_of_directives_is_translated(self):
        text = (
            "```{note} Title\n:class: x\nA dog\nruns.\n\n"
            "````{tip}\nA cat.\n````\n```\n\n> ~~~{warning}\n> A bird.\n> ~~~\n"
        )
        assert sentences_of(text) == ["A dog runs.", "A cat.", "A bird."]
        assert translated(text, "D E", "C", "B") == (
            text.replace("A dog\nruns.", "D\nE")
            .replace("A cat.", "C")
            .replace("A bird.", "B")
        )

    @pytest.mark.parametrize(
        "text",
        [
            "```{code-block} python\nA dog.\n```\n",
            "````\n```{note}\nA dog.\n```\n````\n",
            "```{note}\nA dog.\n",
            "```{note}\n~~~\nA dog.\n~~~\n```\n",
        ],
    )
    def test_code_in_fences_is_kept(self, text):
        assert sentences_of(text) == []

    def test_money_is_no_formula(self):
        text = "It costs $5 and US$ 6 or $7."
        assert sentences_of(text) == [text]

    def test_values_of_front_matter_are_quoted(self):
        text = "---\ntitle: A dog\nsummary: 'b'\n---\n"
        result = translated(text, "x: y", "it's")
        assert result == "---\ntitle: \"x: y\"\nsummary: 'it''s'\n---\n"
        assert translated(text, "A dog", "b") == text

    def test_quotes_are_spelled_as_toml_and_yaml_want_them(self):
        text = '+++\ntitle = \'a\'\nsummary = "b \\"c\\""\n+++\n'
        assert sentences_of(text) == ["a", 'b "c"']
        assert translated(text, "l'eau", '"x" \\ y') == (
            '+++\ntitle = "l\'eau"\nsummary = "\\"x\\" \\\\ y"\n+++\n'
        )
        text = "---\ntitle: a\nsummary: 'it''s'\n---\n"
        assert sentences_of(text) == ["a", "it's"]
        # YAML reads a bare "No" as false.
        assert translated(text, "No", "l'eau") == (
            "---\ntitle: \"No\"\nsummary: 'l''eau'\n---\n"
        )

    def test_a_block_of_front_matter_keeps_its_lines(self):
        text = "---\nsummary: >-\n  one long\n  line.\n\n  two\n---\n"
        assert sentences_of(text) == ["one long line.", "two"]
        assert translated(text, "eine lange Zeile.", "zwei: #") == (
            "---\nsummary: >-\n  eine lange\n  Zeile.\n\n  zwei: #\n---\n"
        )

    @pytest.mark.parametrize(
        "title, result",
        [
            ('"x"', """"l'eau \\"y\\" (z)\""""),
            ("'x'", """'l\\'eau "y" (z)'"""),
            ("(x)", """(l'eau "y" \\(z\\))"""),
        ],
    )
    def test_quotes_do_not_end_the_title_of_a_link(self, title, result):
        text = f"[dog](a.html {title})"
        assert translated(text, "Hund", 'l\'eau "y" (z)') == (
            f"[Hund](a.html {result})"
        )

    def test_descriptions_and_titles_are_read_without_their_markup(self):
        text = '![a *b* \\_c `d`](e.png "f \\"g\\" &amp; h")'
        assert sentences_of(text) == ["a b _c", 'f "g" & h']
        assert translated(text, "A B _C", 'F "G" & H') == text.replace(
            "a *b* \\_c", "A *B* \\_C"
        ).replace('f \\"g\\" &amp; h', 'F \\"G\\" &amp; H')

    @pytest.mark.parametrize(
        "text",
        [
            "Export default settings to a file.",
            "export default settings\nto a file.",
            "Import goods from 'China'",
            "If a == b or c == d, run.",
            "If f(x)==1 or a==b, run.",
        ],
    )
    def test_prose_is_no_code_and_no_highlight(self, text):
        assert sentences_of(text) == [text.replace("\n", " ")]

    def test_a_highlight_may_hold_emphasis(self):
        assert sentences_of("==**a** b== c") == ["a b c"]
        assert translated("==**a** b== c", "A B C") == "==**A** B== C"

    @pytest.mark.parametrize(
        "text",
        [
            "a &amp;nbsp; b",
            r"a \*b\*",
            r"a \$5 and \$6",
            r"a \{b\} c",
            r"C:\dir a",
            "R&D a",
            "a &lt;b&gt;",
        ],
    )
    def test_escapes_stay_escapes_in_a_translation(self, text):
        (sentence,) = sentences_of(text)
        assert translated(text, f"x {sentence}") == f"x {text}"

    def test_braces_of_one_block_reach_into_no_other(self):
        text = "Open { one.\n\n```\nif {\n\n}\n```\n\nNo `{` dog `}` two }.\n"
        assert sentences_of(text) == ["Open { one.", "No dog two }."]
