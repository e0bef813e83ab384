"""Compressed files that are damaged, or compressed in another way."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile

from damage import flips
from damage import truncates
from damage import writes
from rows import accepted
from rows import row

IN = "{box}/in.gz"
DECODE = f"kt-decoder --output_dir={{run}} --decode_from_file={IN} "
DECODE += "--decode_to_file={box}/out.txt"
BLEU = f"kt-evaluate --hypotheses={IN} --references={{texts}}/dev.de"
GENERATE = (
    "kt-datagen --problem=translate_files --data_dir={box}/d --vocab_size=400 "
    "--train_source={texts}/train.en --train_target={texts}/train.de "
    "--dev_source={texts}/dev.en --dev_target={texts}/dev.de"
)
DECODES = {"writes": "out.txt", "apart": True, "cpu_seconds": 60}
TEXT = b"a b c\n" * 20
GZIP = gzip.compress(TEXT * 50, mtime=0)


def tar(mode):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        member = tarfile.TarInfo("in.txt")
        member.size = len(TEXT)
        archive.addfile(member, io.BytesIO(TEXT))
    return file.getvalue()


def zipped():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("in.txt"), TEXT)
    return file.getvalue()


ROWS = [
    row(DECODE, writes(IN, GZIP[:2]), says="gzip"),
    row(DECODE, writes(IN, GZIP[:9]), says="gzip"),
    row(DECODE, writes(IN, GZIP[:30]), says="gzip"),
    row(DECODE, writes(IN, GZIP[:-1]), says="gzip"),
    row(DECODE, writes(IN, GZIP[:-8]), says="gzip"),
    row(DECODE, writes(IN, GZIP + b"junk"), says="gzip"),
    row(DECODE, writes(IN, GZIP + GZIP[:20]), says="gzip"),
    row(DECODE, writes(IN, GZIP), flips(IN, 0.5), says="gzip"),
    row(DECODE, writes(IN, GZIP), flips(IN, 0.999), says="gzip"),
    row(DECODE, writes(IN, b"\x1f\x8b" + b"\xff" * 99), says="gzip"),
    row(DECODE, writes(IN, b"\x1f\x8b\x00" + GZIP[3:]), says="gzip"),
    row(DECODE, writes(IN, gzip.compress(GZIP, mtime=0)), says="UTF-8"),
    row(DECODE, writes(IN, gzip.compress(b"\xff", mtime=0)), says="UTF-8"),
    row(DECODE, writes(IN, bz2.compress(TEXT)), says="bzip2"),
    row(DECODE, writes(IN, lzma.compress(TEXT)), says="xz"),
    row(DECODE, writes(IN, b"\x28\xb5\x2f\xfd" + TEXT), says="zstd"),
    row(DECODE, writes(IN, zipped()), says="zip"),
    row(DECODE, writes(IN, b"PK\x03\x04\xff" + TEXT), says="zip"),
    row(BLEU, writes(IN, GZIP[:-9]), says="gzip"),
    row(BLEU, writes(IN, gzip.compress(b"", mtime=0)), says="0 lines"),
    row(BLEU, writes(IN, GZIP), says="1,000 lines"),
    row(BLEU, writes(IN, gzip.compress(tar("w"), mtime=0)), says="UTF-8"),
    row(BLEU, writes(IN, bz2.compress(TEXT)), says="bzip2"),
    row(GENERATE, writes("{texts}/train.en", GZIP[:-3]), says="train.en"),
    row(GENERATE, writes("{texts}/dev.de", GZIP), flips("{texts}/dev.de", 0.4)),
    row(
        GENERATE,
        writes("{texts}/dev.en", gzip.compress(b"", mtime=0)),
        says="dev.en",
    ),
    row(GENERATE, writes("{texts}/train.de", zipped()), says="train.de"),
    row(GENERATE, writes("{texts}/dev.en", tar("w:xz")), says="dev.en"),
    accepted(DECODE, writes(IN, TEXT), **DECODES),
    accepted(DECODE, writes(IN, gzip.compress(TEXT, mtime=0)), **DECODES),
    accepted(BLEU, writes(IN, gzip.compress(TEXT, mtime=0)), prints="BLEU"),
    accepted(
        BLEU, writes(IN, gzip.compress(TEXT[:60], mtime=0) * 2), prints="BLEU"
    ),
    # A SavedModel is a folder; what is in it may be damaged, too.
    row(
        "kt-decoder --output_dir={saved_model}",
        truncates("{saved_model}/1/saved_model.pb", 0.5),
        stdin=TEXT,
        says="saved_model",
        cpu_seconds=60,
        apart=True,
    ),
    row(
        "kt-decoder --output_dir={saved_model}",
        writes("{saved_model}/1/saved_model.pb", b""),
        stdin=TEXT,
        says="saved_model",
        cpu_seconds=60,
        apart=True,
    ),
    row(
        "kt-decoder --output_dir={saved_model}",
        truncates(
            "{saved_model}/1/variables/variables.data-00000-of-00001", 0.5
        ),
        stdin=TEXT,
        says="saved_model",
        cpu_seconds=60,
        apart=True,
    ),
    row(
        "kt-decoder --output_dir={ctranslate2}",
        truncates("{ctranslate2}/model.bin", 0.5),
        stdin=TEXT,
        says="ctranslate2",
        cpu_seconds=60,
    ),
    row(
        "kt-serve --export_dir={ctranslate2}",
        truncates("{ctranslate2}/model.bin", 0.5),
        says="Export the run again",
        cpu_seconds=60,
        apart=True,
    ),
    row(
        "kt-serve --export_dir={ctranslate2}",
        writes("{ctranslate2}/shared_vocabulary.json", b"[]"),
        says="shared_vocabulary.json",
        cpu_seconds=60,
        apart=True,
    ),
    row(
        "kt-decoder --output_dir={ctranslate2}",
        writes("{ctranslate2}/model.bin", b"\0" * 999),
        stdin=TEXT,
        says="ctranslate2",
        cpu_seconds=60,
    ),
    row(
        "kt-decoder --output_dir={ctranslate2}",
        writes("{ctranslate2}/shared_vocabulary.json", b"[]"),
        stdin=TEXT,
        says="ctranslate2",
        cpu_seconds=60,
    ),
]
