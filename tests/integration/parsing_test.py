"""Commands on a treebank, from files of trees to parsed sentences."""

import contextlib
import io
import json
import os

import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import attention
from keras_transformer.bin import avg_checkpoints
from keras_transformer.bin import datagen
from keras_transformer.bin import decoder
from keras_transformer.bin import evaluate
from keras_transformer.bin import exporter
from keras_transformer.bin import trainer
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.translator import Translator
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problems.toy import ParsingToy

SENTENCE = 'The teacher said: "I can\'t see (any) dogs."'
WORDS = "The teacher said : `` I ca n't see -LRB- any -RRB- dogs . ''".split()
HPARAMS = "num_layers=1,d_model=32,d_ff=64,num_heads=2,batch_tokens=2048"
HPARAMS += ",effective_batch_tokens=2048,warmup_steps=40,beam_size=2"


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """Directory of 300 trees for training, 12 for dev and 12 for test."""
    directory = tmp_path_factory.mktemp("treebank")
    trees = list(ParsingToy().trees("train", None))
    parts = {
        "train": trees[:300],
        "dev": trees[300:312],
        "test": trees[312:324],
    }
    for split, part in parts.items():
        lines = "".join(f"{tree}\n" for tree in part)
        (directory / f"{split}.trees").write_text(lines, encoding="utf-8")
    return directory


def file_flags(treebank):
    splits = ("train", "dev", "test")
    return [f"--{split}_trees={treebank}/{split}.trees" for split in splits]


@pytest.fixture(
    scope="module",
    params=[
        "lexicalised",
        pytest.param("normalised", marks=pytest.mark.slow),
        pytest.param("tagged", marks=pytest.mark.slow),
        pytest.param("in_order", marks=pytest.mark.slow),
    ],
)
def run(request, treebank, tmp_path_factory):
    """Path of a run trained on a few batches, too few to parse well."""
    data_dir = str(tmp_path_factory.mktemp("data"))
    path = str(tmp_path_factory.mktemp("runs") / "parser")
    datagen_status = call(
        datagen,
        "--problem=parsing_files",
        f"--data_dir={data_dir}",
        *file_flags(treebank),
        "--vocab_size=600",
        "--augmentation_rounds=1",
        f"--linearization={request.param}",
    )
    trainer_status = call(
        trainer,
        "--problem=parsing_files",
        f"--data_dir={data_dir}",
        f"--output_dir={path}",
        "--hparams_set=transformer_parsing",
        f"--hparams={HPARAMS}",
        "--train_steps=20",
        "--eval_frequency=10",
        "--precision=float32",
    )
    assert (datagen_status, trainer_status) == (0, 0)
    return path


@pytest.fixture(scope="module")
def scored(run):
    """What kt-evaluate prints about the test split, and its messages."""
    flags = (f"--output_dir={run}", "--split=test", "--evalb_files")
    output, messages = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(messages),
    ):
        assert call(evaluate, *flags) == 0
    return output.getvalue(), messages.getvalue()


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.txt"
    path.write_text(f"{SENTENCE}\n\nDogs bark.\n", encoding="utf-8")
    return str(path)


class TrainTest:
    def test_f1_on_dev_chooses_the_best_checkpoint(self, run):
        with open(os.path.join(run, "metrics.csv"), encoding="utf-8") as file:
            header = file.readline()
        assert "dev_f1" in header and "dev_bleu" not in header
        step = "--checkpoint_step=best"
        assert call(evaluate, f"--output_dir={run}", "--split=dev", step) == 0

    def test_samples_are_trees_over_the_words(self, run):
        path = os.path.join(run, "samples", "step-20.txt")
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for source, translation in zip(lines[0::4], lines[2::4]):
            words = source.removeprefix("source").split()
            tree = parse_tree(translation.removeprefix("translation"))
            assert tree.words() == words


class DecodeTest:
    def test_raw_sentences_become_trees(self, run, sentences, capsys):
        flag = f"--decode_from_file={sentences}"
        assert call(decoder, f"--output_dir={run}", flag) == 0
        first, blank, second = capsys.readouterr().out.splitlines()
        assert parse_tree(first).words() == WORDS
        assert blank == ""
        assert parse_tree(second).words() == ["Dogs", "bark", "."]

    def test_sentences_may_be_words_already(self, run, tmp_path, capsys):
        path = tmp_path / "words.txt"
        path.write_text("Mr. X-1 ( can't ) .\n", encoding="utf-8")
        flags = (f"--decode_from_file={path}", "--tokenized")
        assert call(decoder, f"--output_dir={run}", *flags) == 0
        tree = parse_tree(capsys.readouterr().out)
        assert tree.words() == "Mr. X-1 -LRB- can't -RRB- .".split()

    @pytest.mark.slow
    def test_several_trees_have_scores_that_fall(self, run, sentences, capsys):
        flags = ("--decode_hparams=num_hypotheses=3", "--write_scores")
        flag = f"--decode_from_file={sentences}"
        assert call(decoder, f"--output_dir={run}", flag, *flags) == 0
        columns = capsys.readouterr().out.splitlines()[2].split("\t")
        trees, scores = columns[0::2], [float(score) for score in columns[1::2]]
        assert len(set(trees)) == 3
        assert scores == sorted(scores, reverse=True)
        assert {tuple(parse_tree(t).words()) for t in trees} == {
            ("Dogs", "bark", ".")
        }

    @pytest.mark.slow
    def test_an_ensemble_joins_samples(self, run, sentences, capsys):
        flags = ("--decode_hparams=mbr_samples=4", "--random_seed=2")
        flags += (f"--decode_from_file={sentences}", "--write_scores")
        outputs = []
        # A run and itself have the probabilities of the run.
        for output_dir in (run, f"{run},{run}"):
            assert call(decoder, f"--output_dir={output_dir}", *flags) == 0
            lines = capsys.readouterr().out.splitlines()
            trees, scores = zip(*(line.split("\t") for line in lines))
            assert all(0 <= float(score) <= 100 for score in scores)
            outputs.append(trees)
        assert outputs[0] == outputs[1]
        assert parse_tree(outputs[0][0]).words() == WORDS

    def test_unconstrained_output_is_repaired(self, run):
        parser = Parser.load(run)
        sources = [SENTENCE, "Dogs bark."]
        trees = parser(sources, constrained=False)
        assert [parse_tree(tree).words() for tree in trees] == [
            WORDS,
            ["Dogs", "bark", "."],
        ]
        assert parser.trees.num_malformed > 0
        parser = Parser.load(run)
        parser(sources)
        assert parser.trees.num_malformed == 0

    def test_a_tree_is_scored_by_its_symbols(self, run):
        parser = Parser.load(run)
        tree = "(TOP (S (NP (NNS Dogs)) (VP (VBP bark)) (. .)))"
        (score,) = parser.score(["Dogs bark."], [tree])
        symbols = parser.trees.write(tree)
        (expected,) = Translator(parser.engine).score(
            ["Dogs bark ."], [symbols]
        )
        assert score == pytest.approx(expected)
        assert len(symbols.split()) == 9

    def test_prefixes_are_refused(self, run, sentences, capsys):
        assert_fails(
            capsys,
            ["--prefix_file", "not a parsing run"],
            decoder,
            f"--output_dir={run}",
            f"--decode_from_file={sentences}",
            f"--prefix_file={sentences}",
        )


class SemiSupervisedTest:
    def test_confident_trees_of_a_parser_join_the_treebank(
        self, run, treebank, sentences, tmp_path, capsys
    ):
        parsed = tmp_path / "parsed.tsv"
        decoder_status = call(
            decoder,
            f"--output_dir={run}",
            f"--decode_from_file={sentences}",
            f"--decode_to_file={parsed}",
            "--alpha=0",
            "--write_scores",
        )
        rows = [line.split("\t") for line in parsed.read_text().splitlines()]
        assert all(float(score) <= 0 for _, score in rows)
        confident = tmp_path / "confident.trees"
        confident.write_text("".join(f"{tree}\n" for tree, _ in rows))
        datagen_status = call(
            datagen,
            "--problem=parsing_files",
            f"--data_dir={tmp_path / 'data'}",
            *file_flags(treebank),
            f"--vocabulary={run}",
            f"--linearization={plan_model(run).linearization}",
            f"--parsed_trees={confident}",
            "--treebank_weight=2",
        )
        assert (decoder_status, datagen_status) == (0, 0)
        assert "train 602 pairs" in capsys.readouterr().out


class EvaluateTest:
    def test_f1_goes_to_the_card_and_the_scores(self, run, scored):
        output, messages = scored
        assert "F1" in output and "COLLINS" in output
        assert "Malformed and repaired: 0 of 12 (0.0%)." in messages
        with open(os.path.join(run, "scores", "test.json")) as file:
            (entry,) = json.load(file)
        assert 0 <= entry["f1"] < 100
        with open(os.path.join(run, "README.md"), encoding="utf-8") as file:
            card = file.read()
        assert f"{entry['f1']:.2f}" in card and "parse = load(" in card

    def test_files_for_evalb_score_the_same(
        self, run, scored, treebank, capsys
    ):
        output, _ = scored
        gold, test = (
            os.path.join(run, "decodes", f"test.{name}")
            for name in ("gold", "test")
        )
        flags = (f"--hypotheses={test}", f"--references={gold}")
        assert call(evaluate, *flags, "--measure=f1") == 0
        # A run's cost follows its scores.
        assert output.startswith(capsys.readouterr().out)
        flags = (f"--hypotheses={gold}", f"--references={treebank}/test.trees")
        assert call(evaluate, *flags, "--measure=f1") == 0
        captured = capsys.readouterr()
        assert "100.00" in captured.out
        assert "failed because" not in captured.err

    def test_flags_of_bleu_are_refused(self, run, capsys):
        words = ["--tokenize", "BLEU"]
        flag = f"--output_dir={run}"
        assert_fails(capsys, words, evaluate, flag, "--tokenize=none")


class OtherCommandsTest:
    def test_early_stopping_by_bleu_is_refused(self, run, capsys):
        words = ["early_stopping_metric=bleu", "Use one of these or loss."]
        flags = (f"--output_dir={run}", "--early_stopping_metric=bleu")
        assert_fails(capsys, words, trainer, *flags)

    @pytest.mark.slow
    def test_an_averaged_run_and_its_export_give_the_same_trees(
        self, run, sentences, tmp_path, capsys
    ):
        averaged = str(tmp_path / "averaged")
        flags = (f"--output_dir={run}", f"--averaged_dir={averaged}")
        assert call(avg_checkpoints, *flags, "--num_last_checkpoints=2") == 0
        exported = str(tmp_path / "export")
        flags = (f"--output_dir={averaged}", f"--export_dir={exported}")
        assert call(exporter, *flags) == 0
        capsys.readouterr()
        outputs = []
        for path in (averaged, exported):
            flags = (f"--output_dir={path}", f"--decode_from_file={sentences}")
            assert call(decoder, *flags) == 0
            outputs.append(capsys.readouterr().out)
        assert outputs[0] == outputs[1] != ""

    def test_ctranslate2_gives_trees_as_well(self, run, tmp_path):
        pytest.importorskip("ctranslate2")
        exported = str(tmp_path / "export")
        flags = (f"--output_dir={run}", f"--export_dir={exported}")
        assert call(exporter, *flags, "--format=ctranslate2") == 0
        (tree,) = Parser.load(exported)([SENTENCE])
        assert parse_tree(tree).words() == WORDS

    def test_attention_is_shown_over_the_words(self, run, tmp_path, capsys):
        page = tmp_path / "attention.html"
        flags = (f"--text={SENTENCE}", f"--html={page}")
        assert call(attention, f"--output_dir={run}", *flags) == 0
        tree = parse_tree(capsys.readouterr().out)
        assert tree.words() == WORDS
        assert "teacher" in page.read_text(encoding="utf-8")
        leaves = " ".join(f"(NN {word})" for word in WORDS)
        target = f"--target_text=(TOP (NP {leaves}))"
        assert call(attention, f"--output_dir={run}", *flags, target) == 0

    def test_the_symbols_of_a_target_tree_are_counted(
        self, run, tmp_path, capsys
    ):
        flags = [f"--output_dir={run}", f"--text={SENTENCE}"]
        flags.append(f"--html={tmp_path / 'attention.html'}")
        # The model writes fewer symbols than there are subwords in brackets.
        tree = f"(S {'(NP (NN dog)) ' * 40})"
        assert call(attention, *flags, f"--target_text={tree}") == 0
        capsys.readouterr()
        words = ["`--target_text`", "line 1"]
        assert_fails(capsys, words, attention, *flags, "--target_text=(S (NP")


class DatagenTest:
    def test_bad_trees_are_reported_and_left_out(
        self, treebank, tmp_path, capsys
    ):
        bad = tmp_path / "bad.trees"
        lines = (treebank / "dev.trees").read_text().splitlines()
        lines[3] = lines[3][:-1]
        lines[5] = lines[5] + " " + lines[6]
        bad.write_text("\n".join(lines) + "\n")
        train, _, _ = file_flags(treebank)
        flags = ["--problem=parsing_files", f"--data_dir={tmp_path / 'data'}"]
        flags += [train, f"--dev_trees={bad}", "--vocab_size=600"]
        assert_fails(capsys, [f"{bad}", "line 4"], datagen, *flags)
        assert not (tmp_path / "data").exists()
        assert call(datagen, *flags, "--skip_bad") == 0
        output = capsys.readouterr().out
        assert "2 bad trees left out" in output
        assert "line 4" in output and "line 6" in output

    @pytest.mark.parametrize("split", ["train", "dev", "test", "parsed"])
    def test_every_path_may_begin_at_home(
        self, split, treebank, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setenv("HOME", str(treebank))
        train, dev, test = file_flags("~")
        flags = [train, dev, test, "--parsed_trees=~/dev.trees"]
        flags.append(f"--{split}_trees=~/dev.trees,~/gone.trees")
        flags += ["--problem=parsing_files", f"--data_dir={tmp_path}"]
        words = f"There is no treebank at {treebank}/gone.trees"
        assert_fails(capsys, [words], datagen, *flags)

    @pytest.mark.parametrize("flag", ["--train_trees=x", "--skip_bad"])
    def test_flags_of_trees_need_a_treebank(self, flag, tmp_path, capsys):
        words = [flag.split("=")[0], "parsing_files"]
        flags = ("--problem=copy", f"--data_dir={tmp_path / 'data'}", flag)
        assert_fails(capsys, words, datagen, *flags)
