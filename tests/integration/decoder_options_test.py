"""kt-decoder: n-best lists, scores, samples, prefixes and pairs to score."""

import functools
import json
import shutil

import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import decoder
from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.engines.attention import format_pharaoh


@pytest.fixture
def run_decoder(trained_run, type_in, capsys):
    """Function that returns the columns of what a model writes."""

    def decode(text, *flags, model=trained_run):
        type_in(text.encode())
        assert call(decoder, f"--output_dir={model}", *flags) == 0
        output = capsys.readouterr().out
        return [line.split("\t") for line in output.split("\n")[:-1]]

    return decode


@pytest.fixture
def run_quick_model(run_decoder, quick_model):
    return functools.partial(run_decoder, model=quick_model)


class HypothesesTest:
    def test_hypotheses_and_their_scores_are_columns(self, run_quick_model):
        rows = run_quick_model(
            "a b c\n\nq w e\n",
            "--decode_hparams=num_hypotheses=3",
            "--write_scores",
        )
        assert [len(row) for row in rows] == [6, 2, 6]
        assert rows[0][0] == "a b c"
        assert rows[1] == ["", "0.000000"]
        scores = [float(score) for score in rows[2][1::2]]
        assert scores == sorted(scores, reverse=True)
        assert len(set(rows[2][::2])) == 3

    def test_the_score_of_a_pair_is_that_of_the_search(
        self, run_quick_model, tmp_path
    ):
        rows = run_quick_model(
            "a b c\nq w e r\n", "--decode_hparams=beam_size=2", "--write_scores"
        )
        pairs = tmp_path / "pairs.tsv"
        pairs.write_text(
            "".join(f"{text}\t{text}\n" for text, _ in rows), encoding="utf-8"
        )
        scores = run_quick_model("", f"--score_file={pairs}")
        for (_, expected), (score,) in zip(rows, scores, strict=True):
            assert float(score) == pytest.approx(float(expected), abs=1e-4)

    def test_a_copied_word_is_linked_to_itself(self, run_decoder):
        text = "q w e r t\n\na b c\n"
        rows = run_decoder(
            text, "--write_scores", "--write_alignments", "--write_word_scores"
        )
        assert [len(row) for row in rows] == [4, 4, 4]
        assert rows[0][::2] == ["q w e r t", "0-0 1-1 2-2 3-3 4-4"]
        assert rows[1][0] == rows[1][2] == rows[1][3] == ""
        assert rows[2][::2] == ["a b c", "0-0 1-1 2-2"]
        scores = [float(score) for score in rows[2][3].split()]
        assert len(scores) == 3
        # Four tokens, with the end, and the usual alpha of 0.6.
        expected = float(rows[2][1]) * ((5 + 4) / 6) ** 0.6
        assert sum(scores) == pytest.approx(expected, abs=1e-3)

    def test_json_lines_hold_links_and_word_scores(self, run_decoder):
        flags = ["--write_alignments", "--write_word_scores"]
        texts = ["q w e", "", "a b"]
        columns = run_decoder("".join(f"{text}\n" for text in texts), *flags)
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        for (line,), (_, pairs, scores) in zip(
            run_decoder(lines, *flags, "--format=jsonl"), columns, strict=True
        ):
            fields = json.loads(line)
            assert format_pharaoh(fields["alignments"]) == pairs
            assert fields["word_scores"] == list(map(float, scores.split()))

    def test_corrections_take_the_place_of_translations(
        self, run_quick_model, tmp_path
    ):
        path = tmp_path / "memory"
        memory = TranslationMemory(path)
        memory.remember("q w e", "Q W E", origin="Ann")
        flag = f"--memory={path}"
        rows = run_quick_model("a b c\nq w e\n", flag)
        assert rows == [["a b c"], ["Q W E"]]
        lines = '{"text": "a b c"}\n{"text": "q w e"}\n'
        rows = run_quick_model(lines, flag, "--format=jsonl")
        plain, corrected = (json.loads(line) for (line,) in rows)
        assert "memory" not in plain
        assert corrected["translation"] == "Q W E"
        (match,) = corrected["memory"]
        assert match.pop("time").startswith("20")
        expected = {"source": "q w e", "target": "Q W E", "origin": "Ann"}
        assert match == {**expected, "similarity": 1.0}

    def test_origins_are_pairs_of_the_training_text(self, run_decoder):
        flags = ["--format=jsonl", "--write_origins"]
        ((line,),) = run_decoder('{"text": "a b c"}\n', *flags)
        origins = json.loads(line)["origins"]
        assert len(origins) == 5
        for one in origins:
            assert one["source"] == one["target"]
            assert 0 < one["similarity"] <= 1

    def test_samples_follow_the_seed(self, run_quick_model):
        flags = ["--decode_hparams=temperature=3,num_hypotheses=4"]
        first = run_quick_model("a b c\n", *flags, "--random_seed=1")
        assert first == run_quick_model("a b c\n", *flags, "--random_seed=1")
        assert first != run_quick_model("a b c\n", *flags, "--random_seed=2")

    def test_the_score_of_minimum_bayes_risk_is_chrf(self, run_decoder):
        flags = ["--decode_hparams=mbr_samples=8,top_k=1", "--write_scores"]
        rows = run_decoder("a b c\n\n", *flags)
        # Samples among one token are all the same.
        assert rows == [["a b c", "100.000000"], ["", "0.000000"]]

    def test_translations_begin_with_the_lines_of_a_file(
        self, run_quick_model, tmp_path
    ):
        prefixes = tmp_path / "prefixes.txt"
        prefixes.write_text("x y\n\n", encoding="utf-8")
        rows = run_quick_model("a b c\nq w e\n", f"--prefix_file={prefixes}")
        assert rows[0][0].startswith("x y")
        assert rows[1] == ["q w e"]

    def test_low_precision_copies_as_well(self, run_decoder):
        assert run_decoder("a b c\n", "--precision=bfloat16") == [["a b c"]]


class EnsembleTest:
    def test_commas_separate_the_runs_of_an_ensemble(
        self, trained_run, quick_model, tmp_path, type_in, capsys
    ):
        # A comma in the name of a directory that exists separates nothing.
        odd = tmp_path / "runs, old"
        shutil.copytree(quick_model, odd)
        for output_dir in (odd, f"{trained_run},{trained_run}"):
            type_in(b"a b c\n\nq w e\n")
            assert call(decoder, f"--output_dir={output_dir}") == 0
            assert capsys.readouterr().out == "a b c\n\nq w e\n"


class RerankingTest:
    def test_a_reverse_run_adds_its_score(
        self, run_decoder, trained_run, quick_model
    ):
        flags = ["--write_scores", "--decode_hparams=num_hypotheses=2"]
        text = "a b c\n\nq w e\n"
        forward = run_decoder(text, *flags, model=quick_model)
        # Copying is its own opposite, so each copy gets its own score twice.
        rows = run_decoder(text, *flags, f"--rerank_by={trained_run}")
        assert [row[0] for row in rows] == ["a b c", "", "q w e"]
        for row, before in zip(rows, forward, strict=True):
            assert float(row[1]) == pytest.approx(
                2 * float(before[1]), abs=1e-3
            )
        assert [len(row) for row in rows] == [4, 2, 4]


class BadInputTest:
    @pytest.mark.parametrize(
        "flags, words",
        [
            (["--decode_hparams=beams=3"], ["'beams'", "beam_size"]),
            (["--decode_hparams=top_p=2"], ["`top_p`", "2.0"]),
            (
                ["--beam_size=2", "--decode_hparams=num_hypotheses=3"],
                ["num_hypotheses=3, beam_size=2"],
            ),
        ],
    )
    def test_a_wrong_option_is_one_line(
        self, trained_run, type_in, capsys, flags, words
    ):
        type_in(b"a b\n")
        assert_fails(
            capsys, words, decoder, f"--output_dir={trained_run}", *flags
        )

    def test_a_pair_without_a_tab_is_one_line(
        self, trained_run, tmp_path, capsys
    ):
        pairs = tmp_path / "pairs.tsv"
        pairs.write_text("a\ta\nb b\n")
        assert_fails(
            capsys,
            [f"{pairs}, line 2", "0 tabs"],
            decoder,
            f"--output_dir={trained_run}",
            f"--score_file={pairs}",
        )

    def test_too_few_prefixes_are_one_line(self, trained_run, tmp_path, capsys):
        source, prefixes = tmp_path / "source.txt", tmp_path / "prefixes.txt"
        source.write_text("a\nb\n")
        prefixes.write_text("x\n")
        assert_fails(
            capsys,
            ["each of 2 lines", "and has 1", str(prefixes)],
            decoder,
            f"--output_dir={trained_run}",
            f"--decode_from_file={source}",
            f"--prefix_file={prefixes}",
        )

    def test_a_foreign_vocabulary_is_one_line(self, make_run, type_in, capsys):
        run = make_run()
        run.record["vocabulary_sha256"] = "0" * 64
        copy = type(run).create(
            run.path + "-copy",
            run.record,
            run.hparams,
            type(run)(run.path).vocabulary.model_bytes,
        )
        copy.checkpoints.save(1, {})
        type_in(b"a b\n")
        assert_fails(
            capsys,
            ["not the vocabulary of its model", "vocab.model", "0" * 64],
            decoder,
            f"--output_dir={copy.path}",
        )
