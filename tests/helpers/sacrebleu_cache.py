"""A directory of sacreBLEU with one small test set, and no network."""

import urllib.error
import urllib.request
from xml.sax.saxutils import escape

from sacrebleu import utils
from sacrebleu.dataset import DATASETS

TEST_SET = "wmt14/full"
SOURCES = ["a b c", "d e"]
REFERENCES = ["a b c", "e & d"]


def make_cache(directory, monkeypatch):
    """Puts `TEST_SET` from English to German into sacreBLEU's directory."""

    def no_network(*_):
        raise urllib.error.URLError("no network")

    # sacreBLEU reads its variable when it is imported, which has happened.
    monkeypatch.setattr(utils, "SACREBLEU_DIR", str(directory))
    outdir = directory / "wmt14" / "full"
    monkeypatch.setattr(DATASETS[TEST_SET], "_outdir", str(outdir))
    monkeypatch.setattr(DATASETS[TEST_SET], "_rawdir", str(outdir / "raw"))
    monkeypatch.setattr(urllib.request, "urlopen", no_network)
    outdir.mkdir(parents=True)
    for ending, lines in (("src", SOURCES), ("ref", REFERENCES)):
        path = outdir / f"wmt14_full.en-de.{ending}"
        # As in SGML, which older sets come from.
        path.write_text("".join(f"{escape(line)}\n" for line in lines))
