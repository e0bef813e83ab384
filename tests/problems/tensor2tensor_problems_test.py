"""Tensor2Tensor's problems of translation and parsing, by their own names."""

import pytest
import tensorflow_datasets as tfds

from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.problems.tensor2tensor import TranslateCorpora

# The names in its registry, the language of the targets, and the vocabulary.
THEIRS = """
translate_encs_wmt32k         cs 32768
translate_ende_wmt32k         de 32768
translate_ende_wmt32k_packed  de 32768
translate_ende_wmt8k          de 8192
translate_ende_wmt8k_packed   de 8192
translate_enes_wmt32k         es 32768
translate_enes_wmt32k_packed  es 32768
translate_enes_wmt8k          es 8192
translate_enes_wmt8k_packed   es 8192
translate_enet_wmt32k         et 32768
translate_enfr_wmt32k         fr 32768
translate_enfr_wmt32k_packed  fr 32768
translate_enfr_wmt8k          fr 8192
translate_enfr_wmt_small32k   fr 32768
translate_enfr_wmt_small8k    fr 8192
translate_enid_iwslt32k       id 32768
translate_enmk_setimes32k     mk 32768
translate_enro_wmt32k         ro 32768
translate_enro_wmt8k          ro 8192
translate_entn_rma            tn 32768
translate_envi_iwslt32k       vi 32768
translate_enzh_wmt32k         zh 32768
translate_enzh_wmt8k          zh 8192
translate_enfi_wmt32k         fi 32768
translate_enlv_wmt32k         lv 32768
translate_enru_wmt32k         ru 32768
translate_entr_wmt32k         tr 32768
"""
ROWS = {row[0]: row[1:] for row in map(str.split, THEIRS.splitlines()) if row}
by_name = pytest.mark.parametrize("name", ROWS)
NUM_LINES = {"train": 40, "dev": 3, "test": 2}


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Returns a function that makes a problem of few pairs by its name."""

    def make_problem(name):
        cls = registry.problems.get(registry.base_name(name))
        monkeypatch.setattr(cls, "vocab_size", 330)
        monkeypatch.setattr(cls, "num_pairs", {})
        return registry.get_problem(name, str(tmp_path / "data"))

    return make_problem


def place(tmp_dir, stem, language, splits):
    word = "猫在房子里" if language == "zh" else "Satz"
    for split in splits:
        numbers = range(NUM_LINES[split])
        for code, text in (("en", "Line"), (language, word)):
            lines = "".join(f"{text} {split} {n}.\n" for n in numbers)
            path = tmp_dir / f"{stem}.{split}.{code}"
            path.write_text(lines, encoding="utf-8")


def stem_of(name):
    """Returns the name without the size of the vocabulary."""
    if name == "translate_enzh_wmt8k":  # it has corpora of its own
        return name
    name = name.removesuffix("_packed")
    return name.removesuffix("32k").removesuffix("8k")


class TranslateCorporaTest:
    def test_the_table_has_all_problems(self):
        classes = map(registry.problems.get, registry.problems.names())
        ours = {c.name for c in classes if issubclass(c, TranslateCorpora)}
        assert ours == set(ROWS)

    @by_name
    def test_each_has_its_languages_and_its_vocabulary(self, name):
        problem = registry.get_problem(name)
        language, size = ROWS[name]
        assert (problem.inputs_language, problem.targets_language) == (
            "en",
            language,
        )
        assert problem.vocab_size == int(size)
        assert problem.shared_vocabulary == (language != "zh")

    @by_name
    def test_each_reads_files_of_its_corpora(self, make, tmp_path, name):
        problem = make(name)
        language = problem.targets_language
        place(tmp_path, stem_of(name), language, problem.splits)
        manifest = problem.generate(str(tmp_path))
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == {split: NUM_LINES[split] for split in problem.splits}
        reverse = registry.get_problem(f"{name}_rev", problem.data_dir)
        assert reverse.text_split("dev") == problem.text_split("dev")[::-1]
        assert reverse.targets_language == "en"

    @by_name
    def test_tensorflow_datasets_has_what_it_downloads(self, name):
        problem = registry.get_problem(name)
        if problem.tfds_name:
            dataset, config = problem.tfds_name.split("/")
            assert config in tfds.builder_cls(dataset).builder_configs
            assert problem.targets_language in config.split("-")
        assert ("test" in problem.splits) == bool(problem.tfds_name)

    def test_without_a_download_the_files_are_named(self, make, tmp_path):
        with pytest.raises(ValueError) as error:
            make("translate_encs_wmt32k").generate(str(tmp_path))
        assert str(error.value) == (
            "The files of translate_encs_wmt32k have to be placed by hand. "
            f"Place in {tmp_path}, plain or as .gz: translate_encs_wmt.train."
            "{en,cs} (the same number of lines), translate_encs_wmt.dev."
            "{en,cs} (the same number of lines)."
        )

    def test_ende_has_the_counts_of_its_corpora(self):
        problem = registry.get_problem("translate_ende_wmt32k")
        assert problem.num_pairs["train"] == 4_592_289

    def test_chinese_is_scored_by_characters(self, make, tmp_path):
        problem = make("translate_enzh_wmt32k")
        place(tmp_path, "translate_enzh_wmt", "zh", problem.splits)
        problem.generate(str(tmp_path))
        assert problem.bleu_tokenizer == "zh"


class PackedTest:
    def test_packed_and_plain_have_the_same_data(self, make, tmp_path):
        plain = make("translate_ende_wmt8k")
        place(tmp_path, "translate_ende_wmt", "de", plain.splits)
        plain.generate(str(tmp_path))
        packed = make("translate_ende_wmt8k_packed_rev")
        assert packed.name == "translate_ende_wmt8k_packed_rev"
        assert packed.directory == plain.directory
        assert packed.text_split("test") == plain.text_split("test")[::-1]

    def test_packed_needs_packed_training(self):
        problem = registry.get_problem("translate_ende_wmt32k_packed")
        with pytest.raises(ValueError, match="Add --hparams=packed=true, or"):
            problem.make_guidance(HParams())
        hparams = registry.get_hparams("transformer_packed_tpu")
        assert problem.make_guidance(hparams) is None


class LeftOutTest:
    @pytest.mark.parametrize(
        "name, reason",
        [
            ("image_cifar10_plain_gen", "is for images, which this package"),
            ("img2img_celeba", "is for images"),
            ("librispeech_clean", "is for speech"),
            ("audio_timit_tokens8k_test", "is for speech"),
            ("video_moving_mnist", "is for video"),
            ("languagemodel_lm1b32k_packed", "is for language modelling"),
            ("enwik8_l1k", "is for language modelling"),
            ("summarize_cnn_dailymail32k", "is for summarisation"),
            ("sentiment_imdb", "is for classification"),
            ("multi_nli", "is for classification"),
            ("sci_tail", "is for classification"),
            ("babi_qa_concat_all_tasks_10k", "is for questions and answers"),
            ("translate_ende_wmt_characters", "is for characters in place of"),
            ("translate_ende_wmt_clean32k", "left out, but translate_files"),
            ("translate_enfr_wmt32k_with_backtranslate_fr_rev", "left out"),
            (
                "dialog_cornell32k",
                "is left out, but translate_files learns from",
            ),
            ("algorithmic_cipher_shift5", "is left out"),
            ("text2text_tmpdir", "translate_files learns from"),
        ],
    )
    def test_what_is_left_out_is_refused_with_the_reason(self, name, reason):
        with pytest.raises(ValueError) as error:
            registry.get_problem(name)
        message = str(error.value)
        assert message.startswith(f"Tensor2Tensor's problem '{name}' ")
        assert reason in message
        assert "`kt-trainer --registry_help` lists all" in message

    def test_neither_our_names_nor_misspellings_look_like_theirs(self):
        problems = registry.problems
        names = [*problems.names(), "copy_rev_", "reverse_letters", "image"]
        assert not [name for name in names if problems.find_refusal(name)]


class ParsingEnglishTest:
    @pytest.mark.parametrize(
        "name, size, symbol",
        [
            ("parsing_english_ptb8k", 8192, "XX"),
            ("parsing_english_ptb16k", 16384, "XX"),
            ("wsj_parsing", 32768, "<NNP/>"),
        ],
    )
    def test_it_parses_the_wall_street_journal(
        self, tmp_path, monkeypatch, name, size, symbol
    ):
        problem = registry.get_problem(name, str(tmp_path / "data"))
        assert problem.vocab_size == size
        monkeypatch.setattr(problem, "vocab_size", 290)
        counts = {"train": 9, "dev": 2, "test": 1}
        monkeypatch.setattr(problem, "num_trees", counts)
        for split, count in counts.items():
            path = tmp_path / f"parsing_wsj.{split}.trees"
            path.write_text("( (S (NP (NNP Ada)) (VP (VBZ smiles))))\n" * count)
        problem.generate(str(tmp_path))
        sources, trees = problem.text_split("test")
        assert sources == ["Ada smiles"]
        assert symbol in problem.target_text(trees[0])
