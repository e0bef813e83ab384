"""Compares our tokenizer with NLTK's on the sentences of a treebank.

    pip install nltk
    python benchmarks/tokenizer_comparison.py wsj_sample

Each sentence is printed as running text, tokenized again and compared with its
words in the treebank. The script prints a table with the number of sentences
that came back unchanged and, in parentheses, the number of words that did.
"""

import difflib
import pathlib
import re
import sys

from nltk.tokenize import NLTKWordTokenizer
from nltk.tokenize import TreebankWordDetokenizer
from nltk.tokenize import TreebankWordTokenizer

from keras_transformer.parsing.tokenizer import tokenize
from keras_transformer.parsing.treebank import read_treebank

sys.path.append(str(pathlib.Path(__file__).parents[1] / "tests/helpers"))
from printed_text import TYPESET
from printed_text import printed


def escaped(words):
    """Returns words with the escapes of the treebank, which NLTK lacks."""
    return [re.sub(r"(?<!\\)([/*])", r"\\\1", word) for word in words]


def without_treebank(tokenizer):
    return lambda text: tokenizer.tokenize(text, convert_parentheses=True)


def with_escapes(tokenizer):
    return lambda text: escaped(without_treebank(tokenizer)(text))


def printed_by_nltk(words):
    detokenizer = TreebankWordDetokenizer()
    text = detokenizer.detokenize(words, convert_parentheses=True)
    return text.replace("\\/", "/").replace("\\*", "*")


TEXTS = {
    "printed": printed,
    "printed by NLTK": printed_by_nltk,
    "typeset": lambda words: printed(words, TYPESET),
    "split already": " ".join,
}
TOKENIZERS = {
    "ours": tokenize,
    "`TreebankWordTokenizer`": without_treebank(TreebankWordTokenizer()),
    "the same, escaped": with_escapes(TreebankWordTokenizer()),
    "`NLTKWordTokenizer`": without_treebank(NLTKWordTokenizer()),
    "the same, escaped ": with_escapes(NLTKWordTokenizer()),
}


def num_matches(words, tokens):
    matcher = difflib.SequenceMatcher(None, words, tokens, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def main(treebank):
    sentences = [tree.words() for tree in read_treebank([treebank])]
    num_words = sum(map(len, sentences))
    print(f"{len(sentences):,} sentences of {num_words:,} words")
    print("| text |", " | ".join(TOKENIZERS), "|")
    for name, print_words in TEXTS.items():
        texts = [print_words(words) for words in sentences]
        cells = []
        for tokenizer in TOKENIZERS.values():
            pairs = [(w, tokenizer(t)) for w, t in zip(sentences, texts)]
            right = sum(words == tokens for words, tokens in pairs)
            num_words_right = sum(num_matches(*pair) for pair in pairs)
            cells.append(f"{right:,} ({num_words_right:,})")
        print(f"| {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    main(sys.argv[1])
