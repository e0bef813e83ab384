"""Tests of the problem over several corpora with weights."""

import collections
import gzip
import pathlib

import numpy as np
import pytest

from keras_transformer import registry
from keras_transformer.data.generation import generation
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.hparam import HParams
from keras_transformer.problems.translate_files import TranslateFiles
from keras_transformer.training.start import check_data

WORDS = "red green blue one two three small large house tree".split()
SIZES = {"web": 40, "own": 10, "dev": 4}


def lines(name, side):
    return [
        f"{WORDS[n % 10]} {side}{name} {WORDS[n // 10 % 10]} {WORDS[n % 7]}."
        for n in range(SIZES[name])
    ]


@pytest.fixture
def corpora(tmp_path):
    """Two files, a compressed TSV and a TMX."""
    for side in ("en", "de"):
        text = "\n".join(lines("web", side)) + "\n"
        (tmp_path / f"web.{side}").write_text(text)
    pairs = zip(lines("own", "en"), lines("own", "de"))
    text = "".join("\t".join(pair) + "\n" for pair in pairs)
    (tmp_path / "own.tsv.gz").write_bytes(gzip.compress(text.encode()))
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{de}</seg></tuv>'
        f'<tuv xml:lang="en"><seg>{en}</seg></tuv></tu>\n'
        for en, de in zip(lines("dev", "en"), lines("dev", "de"))
    )
    (tmp_path / "dev.tmx").write_text(f"<tmx><body>{units}</body></tmx>")
    return {
        "train": [
            Corpus((str(tmp_path / "web.en"), str(tmp_path / "web.de"))),
            Corpus((str(tmp_path / "own.tsv.gz"),)),
        ],
        "dev": [Corpus((str(tmp_path / "dev.tmx"),))],
    }


def weighted(corpora, *weights):
    train = [
        Corpus(corpus.paths, weight)
        for corpus, weight in zip(corpora["train"], weights)
    ]
    return {**corpora, "train": train}


def generate(data_dir, corpora, **options):
    problem = TranslateFiles(str(data_dir))
    options = {"languages": ("en", "de"), **options}
    problem.use_files({}, 300, corpora=corpora, **options)
    return problem, problem.generate(None)


def pairs_of(plan):
    """Returns how often each pair is in a plan."""
    chosen = np.concatenate([plan[i][0].ravel() for i in range(len(plan))])
    return collections.Counter(chosen[chosen >= 0].tolist())


class GenerateTest:
    def test_the_text_is_that_of_all_corpora(self, tmp_path, corpora):
        problem, manifest = generate(tmp_path / "data", corpora)
        assert problem.splits == ("train", "dev")
        assert manifest["splits"]["train"]["pairs"] == 50
        sources, targets = problem.text_split("dev")
        assert (sources, targets) == (lines("dev", "en"), lines("dev", "de"))
        ids = problem.token_pairs("train").inputs
        decoded = problem.vocabulary.decode([ids[39], ids[40]])
        assert decoded == [lines("web", "en")[39], lines("own", "en")[0]]

    def test_the_manifest_has_an_entry_for_each_corpus(self, tmp_path, corpora):
        corpora = weighted(corpora, 1, 2.5)
        _, manifest = generate(tmp_path / "data", corpora)
        web, own = manifest["splits"]["train"]["corpora"]
        assert (web["name"], web["pairs"], web["weight"]) == (
            "web.en,web.de",
            40,
            1,
        )
        assert (own["name"], own["pairs"], own["weight"]) == (
            "own.tsv.gz",
            10,
            2.5,
        )
        files = [file["sha256"] for file in manifest["made_from"]["files"]]
        assert web["sha256"] + own["sha256"] == files[:3]

    def test_cleaning_finds_what_two_corpora_share(self, tmp_path, corpora):
        path = tmp_path / "own.tsv.gz"
        shared = f"{lines('web', 'en')[5]}\t{lines('web', 'de')[5]}\n"
        held_out = f"{lines('dev', 'en')[1]}\tganz anders\n"
        text = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(text + (shared + held_out).encode()))
        problem, manifest = generate(tmp_path / "data", corpora, clean=True)
        assert problem.cleaning_report.dropped["duplicate"] == 1
        assert problem.cleaning_report.dropped["held_out"] == 1
        train = manifest["splits"]["train"]
        assert [corpus["pairs"] for corpus in train["corpora"]] == [40, 10]

    def test_two_files_are_the_same_data_in_either_way(self, tmp_path, corpora):
        paths = corpora["train"][0].paths
        files = {"train": paths, "dev": paths}
        problem = TranslateFiles(str(tmp_path / "data"))
        problem.use_files(files, 300)
        manifest = problem.generate(None)
        again = {"train": [Corpus(paths)], "dev": [Corpus(paths)]}
        _, same = generate(tmp_path / "data", again, languages=(None, None))
        assert same == manifest

    def test_another_corpus_is_an_error(self, tmp_path, corpora):
        generate(tmp_path / "data", corpora)
        less = {**corpora, "train": corpora["train"][:1]}
        with pytest.raises(
            ValueError, match="corpora=--train=web.en,web.de --dev=dev.tmx for"
        ):
            generate(tmp_path / "data", less)
        (tmp_path / "own.tsv.gz").write_bytes(b"a\tb\n")
        with pytest.raises(ValueError, match="file 3=own.tsv.gz .sha256 "):
            generate(tmp_path / "data", corpora)

    def test_a_corpus_of_another_split_is_an_error(self, tmp_path, corpora):
        web, own = corpora["train"]
        corpora = {"train": [web], "dev": [own], "test": corpora["dev"]}
        generate(tmp_path / "data", corpora)
        for moved in (
            {"train": [web, own], "dev": corpora["test"]},
            {"train": [web], "dev": [own, *corpora["test"]]},
        ):
            with pytest.raises(ValueError, match="Each data_dir must hold"):
                generate(tmp_path / "data", moved)


class WeightTest:
    def test_new_weights_change_the_manifest_alone(self, tmp_path, corpora):
        _, before = generate(tmp_path / "data", corpora)
        folder = tmp_path / "data" / "translate_files"
        times = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
        problem, after = generate(tmp_path / "data", weighted(corpora, 0.5, 3))
        assert problem.has_new_weights
        assert problem.manifest == after
        changed = {
            path.name
            for path in folder.iterdir()
            if path.stat().st_mtime_ns != times[path]
        }
        assert changed == {"manifest.json"}
        for corpus in after["splits"]["train"]["corpora"]:
            corpus["weight"] = 1
        assert after == before

    def test_a_problem_that_has_been_read_takes_new_weights(
        self, tmp_path, corpora
    ):
        problem, _ = generate(tmp_path / "data", corpora)
        assert problem.choose_epoch_pairs("train") is None
        languages = {"languages": ("en", "de")}
        heavier = weighted(corpora, 1, 3)
        problem.use_files({}, 300, corpora=heavier, **languages)
        problem.generate(None)
        chosen = problem.choose_epoch_pairs("train").tolist()
        assert {chosen.count(number) for number in chosen} == {1, 3}

    def test_data_of_earlier_versions_take_a_weight(self, tmp_path, corpora):
        paths = corpora["train"][0].paths
        files = {"train": paths, "dev": paths}
        problem = TranslateFiles(str(tmp_path / "data"))
        problem.use_files(files, 300)
        manifest = problem.generate(None)
        for counts in manifest["splits"].values():
            del counts["corpora"]
        generation.write_manifest(manifest, problem.directory)
        assert problem.choose_epoch_pairs("train") is None
        problem.use_files(files, 300)
        assert problem.generate(None) == manifest
        twice = {"train": [Corpus(paths, 2)], "dev": [Corpus(paths)]}
        problem, _ = generate(tmp_path / "data", twice, languages=(None, None))
        assert problem.corpus_weights == ["web.en,web.de:2"]
        assert len(problem.choose_epoch_pairs("train")) == 80

    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("suffix", ["", "_rev", "_both"])
    def test_an_epoch_sees_each_corpus_by_its_weight(
        self, tmp_path, corpora, packed, suffix
    ):
        generate(tmp_path / "data", weighted(corpora, 0.5, 3))
        name = f"translate_files{suffix}"
        problem = registry.get_problem(name, str(tmp_path / "data"))
        epochs = [
            pairs_of(problem.batches("train", 200, packed=packed, epoch=epoch))
            for epoch in range(2)
        ]
        for direction in range(len(problem.directions)):
            own = range(50 * direction + 40, 50 * direction + 50)
            web = range(50 * direction, 50 * direction + 40)
            for counts in epochs:
                assert [counts[pair] for pair in own] == [3] * 10
                assert sum(counts[pair] for pair in web) == 20
            assert all(sum(c[pair] for c in epochs) == 1 for pair in web)

    def test_weights_of_one_change_no_batch(self, tmp_path, corpora):
        problem, _ = generate(tmp_path / "data", corpora)
        assert problem.corpus_weights == []
        plan = problem.batches("train", 200, seed=3)
        assert pairs_of(plan) == dict.fromkeys(range(50), 1)

    def test_an_update_is_as_large_as_the_weights_make_it(
        self, tmp_path, corpora
    ):
        problem, _ = generate(tmp_path / "data", weighted(corpora, 1, 9))
        hparams = HParams(effective_batch_tokens=300)
        positions = problem.update_positions(hparams)
        plan = problem.batches("train", positions)
        assert max(plan.tokens_per_batch) == pytest.approx(300, rel=0.15)

    def test_a_dataset_needs_whole_weights(self, tmp_path, corpora):
        problem, _ = generate(tmp_path / "data", weighted(corpora, 0.5, 3))
        with pytest.raises(ValueError, match="own.tsv.gz:3. Use kt-trainer"):
            problem.dataset("train")


class TagTest:
    @pytest.fixture
    def tagged(self, corpora):
        web, own = corpora["train"]
        (dev,) = corpora["dev"]
        return {
            "train": [
                Corpus(web.paths, tag="de"),
                Corpus(own.paths, weight=2, tag="own"),
                Corpus(dev.paths),
            ],
            "dev": [Corpus(web.paths, tag="de"), Corpus(dev.paths)],
        }

    def test_sources_begin_with_one_id_for_their_tag(self, tmp_path, tagged):
        problem, manifest = generate(tmp_path / "data", tagged)
        pairs = problem.token_pairs("train")
        pieces = problem.vocabulary.pieces
        firsts = [pieces(ids[:1])[0] for ids in pairs.inputs]
        assert firsts[:50] == ["▁<de>"] * 40 + ["▁<own>"] * 10
        assert not any("<" in piece for piece in firsts[50:])
        decoded = problem.vocabulary.decode([pairs.inputs[3], pairs.targets[3]])
        sources, targets = (lines("web", side)[3] for side in ("en", "de"))
        assert decoded == [f"<de> {sources}", targets]
        assert problem.text_split("dev")[0] == [
            *(f"<de> {line}" for line in lines("web", "en")),
            *lines("dev", "en"),
        ]
        corpora = manifest["splits"]["train"]["corpora"]
        assert [corpus.get("tag") for corpus in corpora] == ["de", "own", None]

    def test_cleaning_does_not_see_the_tags(self, tmp_path, tagged):
        same = "the same on both sides is no translation\t" * 2
        path = tmp_path / "own.tsv.gz"
        text = gzip.decompress(path.read_bytes()) + f"{same[:-1]}\n".encode()
        path.write_bytes(gzip.compress(text))
        problem, _ = generate(
            tmp_path / "data",
            {**tagged, "dev": [Corpus((str(tmp_path / "dev.tmx"),))]},
            clean=True,
        )
        assert problem.cleaning_report.dropped["identical"] == 1

    def test_another_tag_needs_other_data(self, tmp_path, tagged):
        generate(tmp_path / "data", tagged)
        for corpora in tagged.values():
            corpora[0] = Corpus(corpora[0].paths, tag="fr")
        names = "web.de@fr --train=own.tsv.gz@own"
        with pytest.raises(ValueError, match=names):
            generate(tmp_path / "data", tagged)

    def test_a_tag_that_train_lacks_is_an_error(self, tagged):
        tagged["dev"] = [Corpus(tagged["dev"][1].paths, tag="fr")]
        problem = TranslateFiles("data")
        with pytest.raises(ValueError, match="dev.tmx@fr, .* has de and own."):
            problem.use_files({}, corpora=tagged)
        tagged["train"] = tagged["train"][2:]
        with pytest.raises(ValueError, match="dev.tmx@fr, .* has no tag. Cor"):
            problem.use_files({}, corpora=tagged)

    @pytest.mark.parametrize("suffix", ["_rev", "_both"])
    def test_tags_in_the_targets_are_refused(self, tmp_path, tagged, suffix):
        generate(tmp_path / "data", tagged)
        name = f"translate_files{suffix}"
        problem = registry.get_problem(name, str(tmp_path / "data"))
        with pytest.raises(ValueError, match=f"{name} with the tag de. Use"):
            check_data(problem, HParams(batch_tokens=400))

    def test_a_vocabulary_without_the_tags_is_refused(self, tmp_path, tagged):
        path = str(tmp_path / "vocab.model")
        train_subwords(lines("web", "en"), 300, path)
        with pytest.raises(ValueError, match="spells <de> with [2-9] subwords"):
            generate(tmp_path / "data", tagged, vocabulary=path)

    def test_a_tag_must_not_be_the_unknown_id(self, tmp_path, tagged):
        path = str(tmp_path / "vocab.model")
        write_symbols(WORDS, path)
        with pytest.raises(ValueError, match="does not know <de>. Train"):
            generate(tmp_path / "data", tagged, vocabulary=path)


class BadInputTest:
    def test_text_given_in_two_ways_is_an_error(self, corpora):
        files = {"train": ("a.en", None)}
        with pytest.raises(ValueError, match="and --train_source=a.en. Use"):
            TranslateFiles("data").use_files(files, corpora=corpora)

    def test_a_missing_split_is_an_error(self, corpora):
        del corpora["dev"]
        with pytest.raises(ValueError, match="or both files as --dev=SOURCE,"):
            TranslateFiles("data").use_files({}, corpora=corpora)
        with pytest.raises(ValueError, match=r"or --dev=FILE\.tsv\.$"):
            TranslateFiles("data").use_files({}, corpora=corpora)

    def test_a_fault_leaves_no_data(self, tmp_path, corpora):
        (tmp_path / "dev.tmx").write_text("<tmx>")
        with pytest.raises(ValueError, match="dev.tmx, line 2 .*no element"):
            generate(tmp_path / "data", corpora)
        assert not pathlib.Path(tmp_path / "data").exists()
