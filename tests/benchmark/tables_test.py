import gzip
import json
import pathlib

import draw_lengths
import pytest
import tables
import tables_data

TINY = {"num_layers": 1, "d_model": 16, "d_ff": 32, "num_heads": 2}
TINY |= {"train_steps": 2, "warmup_steps": 1, "batch_tokens": 256}


@pytest.fixture
def data_dir(tmp_path):
    """Returns a folder with made-up files in the forms of both data sets."""
    scan, words = tmp_path / "data" / "scan", tmp_path / "data" / "g2p_2021"
    scan.mkdir(parents=True)
    words.mkdir()
    actions = {"hop": ["HOP"], "hop often": ["HOP"] * 4, "sit": ["SIT"]}
    for part in ("train", "test"):
        lines = [
            f"IN: {command} OUT: {' '.join(output)}\n"
            for command, output in actions.items()
        ]
        path = scan / f"tasks_{part}_simple.txt.gz"
        path.write_bytes(gzip.compress("".join(lines * 8).encode()))
        for language in ("xx", "yy"):
            (words / f"{language}_{part}.tsv").write_text("ab\ta b\nba\tb aː\n")
    for language in ("xx", "yy"):
        (words / f"{language}_dev.tsv").write_text("aa\ta a\n")
    return tmp_path / "data"


class TablesTest:
    @pytest.mark.slow  # starts commands that load TensorFlow
    def test_a_result_is_not_measured_twice(self, data_dir, tmp_path, capsys):
        training = tables.Training(
            "low: two",
            "g2p_files",
            TINY,
            minutes=6,
            seeds=(0, 1),
            make_data=tables_data.name_g2p_files("xx", "yy"),
            group=tables_data.find_tag,
            measure="WER",
        )
        arguments = [str(data_dir), str(tmp_path / "work")]
        tables.main(arguments, [training])
        table, log = capsys.readouterr()
        assert "1 of 1 trainings are to be run: about 0.2 hours" in log
        assert "| low: two: yy | WER | 100.0, 100.0 | 100.0 of 2 |" in table
        (path,) = (tmp_path / "work" / "results").iterdir()
        result = json.loads(path.read_text())
        assert list(result["runs"]) == ["0", "1"]
        assert result["ensemble"]["runs"] == 2
        assert result["ensemble"]["scores"].keys() == {"xx", "yy"}
        tables.main(arguments, [training])
        assert capsys.readouterr() == (table, "")

    def test_a_cutoff_puts_long_outputs_into_test(self, data_dir, tmp_path):
        make_data = tables_data.write_scan_files("simple", cutoff=3)
        flags = make_data(data_dir, tmp_path)
        assert f"--test={tmp_path / 'test.tsv'}" in flags
        lines = (tmp_path / "test.tsv").read_text().splitlines()
        assert set(lines) == {"hop often\tHOP HOP HOP HOP"}
        assert "HOP HOP" not in (tmp_path / "train.tsv").read_text()
        assert (tmp_path / "dev.tsv").read_text()

    def test_scores_are_those_of_a_group(self):
        training = tables.Training(
            "a", "b", {}, 1, group=tables_data.find_lengths
        )
        sides = [["1 2", "1 " * 41, "1"], ["x", "y", "z"]]
        scores = tables.score(training, sides, ["x", "no", "no"])
        assert scores == {"1-40 symbols": 50, "41-80 symbols": 0}

    def test_a_word_may_have_several_pronunciations(self):
        training = tables.Training(
            "a", "b", {}, 1, read_alternatives=lambda: {"a": ["AH", "EY"]}
        )
        sides = [["a", "a", "be", "be"], ["AH", "AH", "B IY", "B IY"]]
        scores = tables.score(training, sides, ["EY", "IY", "B IY", "EY"])
        assert scores == {"": 50}

    def test_the_table_shows_the_results(self):
        folder = pathlib.Path(tables.__file__).parent
        trainings = list(tables.make_trainings())
        results = tables.read_results(folder / "tables_results", trainings)
        page = (folder / "tables.md").read_text(encoding="utf-8")
        assert page.endswith(tables.make_table(trainings, results) + "\n")

    def test_a_wrong_folder_is_an_error_of_one_line(self, tmp_path, capsys):
        wrong, work = tmp_path / "wrong", tmp_path / "work"
        for call, words in (
            (lambda: tables.main([str(wrong), str(work)]), "is not a folder"),
            (lambda: draw_lengths.draw(wrong, work), "has no results of"),
        ):
            with pytest.raises(SystemExit, match="2"):
                call()
            last = capsys.readouterr().err
            assert f"error: {wrong}" in last and words in last
            assert last.count("\n") == 1
        assert not work.exists()

    def test_no_two_trainings_have_one_name(self):
        names = [training.name for training in tables.make_trainings()]
        assert len(names) == len(set(names)) >= 17
