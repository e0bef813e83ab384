"""Translation and pronunciation learnt from the user's files of pairs."""

import functools
import itertools

from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.generation import generation
from keras_transformer.data.generation import token_links
from keras_transformer.data.generation.attributes import check_user_symbols
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.generation.corpora import check_distinct
from keras_transformer.data.generation.corpora import check_tags
from keras_transformer.data.generation.spelling import learn_links
from keras_transformer.data.text import parallel_files
from keras_transformer.data.text import text_files
from keras_transformer.data.text.tags import make_tag_word
from keras_transformer.data.vocabulary.vocabularies import read_path
from keras_transformer.errors import UserError
from keras_transformer.problems.files_problem import FilesProblem
from keras_transformer.registry import register_problem


@register_problem
class TranslateFiles(FilesProblem):
    """Translation learnt from parallel text files of your own.

    `kt-datagen` reads the files once, from `--train_source`, `--train_target`
    and the flags of the other splits, or from `--train`, which may name several
    corpora with weights. Afterwards `--problem=translate_files` and
    `--data_dir` are enough for every command. Each `data_dir` holds one set of
    files. A test split is optional. The files are UTF-8, plain or
    gzip-compressed; line n of the target translates line n of the source, or
    one TSV or TMX file has both.

    Attributes:
        cleaning_report: The `Report` on the training pairs that cleaning
            dropped, or None if nothing was cleaned.
        has_new_weights: Whether `generate` changed weights of existing corpora.

    Example:

    >>> problem = TranslateFiles("data")
    >>> problem.use_files(
    ...     {"train": ("train.en", "train.de"), "dev": ("dev.en", "dev.de")},
    ...     vocab_size=8000,
    ... )
    >>> problem.splits
    ('train', 'dev')
    """

    vocab_size = 8000
    inputs_language = "source"
    targets_language = "target"
    sides = ("source", "target")
    way_of_files = "a source and a target file"
    other_way = (
        ", or both files as --{split}=SOURCE,TARGET, or --{split}=FILE.tsv"
    )

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        self.cleaning_report = None
        self._language_codes = []  # of the given vocabulary
        self.has_new_weights = False
        self._corpora = {}
        self._is_cleaned = False
        self._is_tokenized = False
        self._languages = (None, None)
        self._alignments = None

    def use_files(
        self,
        files,
        vocab_size=None,
        clean=False,
        corpora=None,
        languages=(None, None),
        vocabulary=None,
        symbols=(),
        tokenized=False,
        alignments=None,
        **vocabularies,
    ):
        """Sets the files, and whether to clean the training text.

        Args:
            files, vocab_size: See `FilesProblem.use_files`.
            clean: Whether to drop the training pairs that `kt-clean` drops by
                default or that occur in dev or test. Defaults to False.
            corpora: Dictionary of split to a list of `Corpus`, for splits that
                `files` leaves out. Defaults to none.
            languages: Tuple of the codes of the source and target language,
                which TMX files need. Defaults to none.
            vocabulary: See `Problem.vocabulary_path`. Defaults to training one.
            symbols, tokenized: `user_symbols` and `is_tokenized` of `Problem`.
            alignments: Path of the word alignments of the training text, one
                line for each pair. Defaults to None.
            **vocabularies: See `FilesProblem.use_files`.

        Raises:
            UserError: If text is missing or given twice, if a corpus has no
                known format, if train lacks a tag of another split, or if the
                vocabulary or a symbol cannot be used.
        """
        if vocabulary:
            sources = read_path(vocabulary).sources
            self._language_codes = sources.language_codes
        check_user_symbols(symbols)
        corpora = {s: parts for s, parts in (corpora or {}).items() if parts}
        merged = dict(files)
        for split, parts in corpora.items():
            _check_given_once(split, files.get(split, ()))
            check_distinct(parts)
            for corpus in parts:
                parallel_files.detect_kind(corpus.paths)
            merged[split] = tuple(p for corpus in parts for p in corpus.paths)
        # A vocabulary may come from a model that knows further tags.
        if not vocabulary:
            check_tags(corpora)
        # Fingerprints have the order of the splits, "train" first.
        order = sorted(merged, key=lambda split: split != "train")
        super().use_files(
            {split: merged[split] for split in order},
            vocab_size,
            **vocabularies,
        )
        self._corpora = {
            split: corpora.get(split) or [Corpus(paths)]
            for split, paths in self.files.items()
        }
        self._is_cleaned = clean
        self._languages = languages
        self.vocabulary_path = vocabulary
        self.user_symbols = tuple(symbols)
        self._is_tokenized = tokenized
        self._set_alignments(alignments)

    def _set_alignments(self, path):
        self._alignments = path
        train = self._corpora["train"]
        if path and (self._is_cleaned or not _is_plain_pair(train)):
            names = ", ".join(corpus.tagged_name for corpus in train)
            fault = "--clean" if self._is_cleaned else names
            raise UserError(
                "`train_alignments` needs one pair of training files "
                "that is not cleaned and has no tag, because line n belongs to "
                f"pair n. Received: train_alignments={path} with {fault}. Use "
                "two files, and clean them with kt-clean before you align them."
            )
        text_files.check_rereadable([path] if path else [])

    @property
    def is_tokenized(self):
        # If no files are named again, the data themselves record it.
        if self.files or self.data_dir is None:
            return self._is_tokenized
        manifest = generation.read_manifest(self.directory) or {}
        settings = manifest.get("made_from", {}).get("settings", {})
        return settings.get("tokenized", False)

    def settings(self):
        settings = {"clean": self._is_cleaned, "tokenized": self._is_tokenized}
        for side, language in zip(self.sides, self._languages):
            settings[f"{side}_language"] = language
        # Unset options have no entry, as in earlier manifests.
        settings = {name: value for name, value in settings.items() if value}
        if self._alignments:
            sha256 = text_files.sha256(self._alignments)
            settings[token_links.SETTING] = f"sha256 {sha256}"
        # All data of earlier versions were made from plain pairs.
        if not all(map(_is_plain_pair, self._corpora.values())):
            settings["corpora"] = {
                split: [corpus.tagged_name for corpus in parts]
                for split, parts in self._corpora.items()
            }
        return settings

    def symbols(self, tmp_dir):
        corpora = itertools.chain(*self._corpora.values())
        tags = {corpus.tag for corpus in corpora if corpus.tag}
        codes = self._language_codes
        return tuple(make_tag_word(tag, codes) for tag in sorted(tags))

    def describe_corpora(self, split):
        return [corpus.describe() for corpus in self._corpora[split]]

    def text_pairs(self, split, tmp_dir):
        return itertools.chain(*self.text_corpora(split, tmp_dir))

    def text_corpora(self, split, tmp_dir):
        corpora = self._read(split)
        # Scores on dev and test must stay comparable with other work.
        if self._is_cleaned and split == "train":
            # A new cleaner each time: after one pass, all pairs would be
            # duplicates. Sharing one among corpora finds those across them.
            others = [self._read(s) for s in self._corpora if s != "train"]
            pairs = itertools.chain(*itertools.chain(*others))
            held_out = tuple(itertools.chain(*pairs))
            cleaner = Cleaner(CleaningOptions(held_out=held_out))
            self.cleaning_report = cleaner.report
            corpora = [cleaner.filter_pairs(pairs) for pairs in corpora]
        # Tags come last, because the rules of cleaning are only for the text.
        return [
            corpus.tag_pairs(pairs, self._language_codes)
            for corpus, pairs in zip(self._corpora[split], corpora)
        ]

    def training_alignments(self, tmp_dir):
        if not self._alignments:
            return None
        (pairs,) = self._read("train")
        alignments = token_links.read_alignments(self._alignments)
        return (
            (f"{self._alignments}, line {number}", links)
            for number, (pair, links) in enumerate(zip(pairs, alignments), 1)
            if self.is_complete(*pair)
        )

    def _read(self, split):
        """Returns the pairs of each corpus as they are in its files."""
        return [
            parallel_files.read_pairs(corpus.paths, self._languages)
            for corpus in self._corpora[split]
        ]

    def num_left_out(self, split):
        if self.cleaning_report is None or split != "train":
            return {}
        return {"cleaning": sum(self.cleaning_report.dropped.values())}

    def check_files(self):
        for corpus in itertools.chain(*self._corpora.values()):
            parallel_files.check_pairs(corpus.paths, self._languages)
        if not self._alignments:
            return
        (pairs,) = self._read("train")
        alignments = token_links.read_alignments(self._alignments)
        num_pairs, num_lines = (sum(1 for _ in a) for a in (pairs, alignments))
        if num_lines != num_pairs:
            raise UserError(
                "`train_alignments` must have a line for each training pair. "
                f"Received: {self._alignments} with {num_lines:,} lines, for "
                f"{num_pairs:,} pairs. Align the same text."
            )

    def _describe(self, made_from):
        described = super()._describe(made_from)
        if "corpora" in described:
            described["corpora"] = " ".join(
                f"--{split}={name}"
                for split, parts in described["corpora"].items()
                for name in parts
            )
        return described

    def _names_of_files(self, made_from):
        if "corpora" not in made_from.get("settings", {}):
            return super()._names_of_files(made_from)
        # Splits may have any number of files here, so each gets a number.
        return [f"file {n + 1}" for n in range(len(made_from["files"]))]

    def _update(self, manifest):
        """Changes the weights of the corpora, which no file depends on."""
        train = manifest["splits"]["train"]
        # Data of earlier versions have one corpus, and no entry for it.
        single = [{"weight": 1, "pairs": train["pairs"]}]
        before = train.get("corpora", single)
        weights = [corpus.weight for corpus in self._corpora["train"]]
        if weights == [entry["weight"] for entry in before]:
            return manifest
        described = zip(self.describe_corpora("train"), before, strict=True)
        train["corpora"] = [
            {**entry, "pairs": old["pairs"]} for entry, old in described
        ]
        generation.write_manifest(manifest, self.directory)
        self.forget_data()
        self.has_new_weights = True
        return manifest


@register_problem
class G2pFiles(TranslateFiles):
    """Grapheme to phoneme, learnt from word lists of your own.

    Each line has a word, a tab and its phones, with spaces between them. Every
    character of a word has an id, each letter of a syllable of Hangul, and
    every phone. The text stays as it is, and the share of words that are all
    right decides which checkpoint is best. Otherwise it is `translate_files`.
    `_rev` spells pronunciations. With `guided_alignment`, training learns which
    letter writes each phone, unless the data have word alignments.
    """

    shared_vocabulary = False
    vocabulary_type = "words"
    source_vocabulary_type = "characters"
    normalize_text = False
    is_tokenized = True
    measure = "exact_match"

    @functools.cached_property
    def _spelling(self):
        return token_links.TokenLinks(learn_links(self.token_pairs("train")))

    def make_guidance(self, hparams):
        settings = self.manifest["made_from"].get("settings", {})
        if not hparams.guided_alignment or token_links.SETTING in settings:
            return super().make_guidance(hparams)
        return self._spelling


def _is_plain_pair(corpora):
    """Returns whether a split is one pair of text files without a tag."""
    first, *others = corpora
    return not others and len(first.paths) == 2 and not first.tag


def _check_given_once(split, paths):
    named = zip(TranslateFiles.sides, paths)
    sides = [f"--{split}_{side}={path}" for side, path in named if path]
    if sides:
        raise UserError(
            f"The text of {split} must be given in one way. Received: "
            f"--{split} and {' '.join(sides)}. Use either --{split}, or "
            f"--{split}_source and --{split}_target."
        )
