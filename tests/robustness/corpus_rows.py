"""Corpora that are missing, malformed, given twice or wrongly weighted."""

import gzip

from damage import makes
from damage import removes
from damage import sets
from damage import truncates
from damage import writes
from rows import accepted
from rows import row

START = "kt-datagen --problem=translate_files --data_dir={box}/d "
START += "--vocab_size=400 --dev={texts}/dev.en,{texts}/dev.de --train="
TEXTS = "{texts}/train.en,{texts}/train.de"
TSV, TMX, GZIP = "{box}/a.tsv", "{box}/a.tmx", "{box}/a.tsv.gz"
LANGUAGES = " --source_language=en --target_language=de"
GENERATE = START + TEXTS
LINKS = " --train_alignments={box}/a.links"
WHOLE = "<tmx><body><tu>{}{}</tu></body></tmx>".format(
    *(f'<tuv xml:lang="{code}"><seg>a</seg></tuv>' for code in ("en", "de"))
)
MANIFEST = "{text_data}/translate_files/manifest.json"
TRAIN = (
    "kt-trainer --problem=translate_files --data_dir={text_data} "
    "--output_dir={box}/new --hparams_set=transformer_tiny"
)
GIVEN = GENERATE.replace("--vocab_size=400 ", "") + " --vocabulary={run}"
MODEL = "{run}/vocab.model"
CORPORA = "splits.train.corpora"
EXPORT = "kt-exporter --output_dir={run} --export_dir={box}/e"
SHORTLIST = EXPORT + " --format=ctranslate2 --shortlist="
ROWS = [
    # What the flag names.
    row(START, says="must be a corpus such as"),
    row(START + "a.en", says="must be a corpus such as"),
    row(START + "a,b,c", says="a,b,c"),
    row(START + ",", says="must be a corpus such as"),
    row(START + "a.docx", says="a.docx"),
    row(START + "a.tsv:0", says="weight above 0"),
    row(START + "a.tsv:-1", says="a.tsv:-1"),
    row(START + "a.tsv:nan", says="weight above 0"),
    row(START + "a.tsv:1e9", says="at most 1,000"),
    row(START + "a.tsv:", says="weight above 0"),
    row(START + "a.tsv:three", says="a.tsv:three"),
    row(START + "a.en:2,a.de:2", says="a.en:2, which does not exist"),
    row(START + "{box}/gone.tsv", says="gone.tsv, which does not exist"),
    row(START + "{box}/a.en,{box}/a.de", says="a.en, which does not exist"),
    row(START + TSV, makes(TSV), says="a.tsv"),
    row(GENERATE + f" --train={TEXTS}:2", says="twice"),
    row(GENERATE + " --train_source={texts}/train.en", says="in one way"),
    row(GENERATE + " --dev=a.tsv", says="a.tsv"),
    row(GENERATE + " --test=a.tsv:2", says="must have no weight"),
    row(START + "a.tsv@" + "x" * 40, says="must be a corpus such as"),
    row(START + "a.tsv@", says="must be a corpus such as"),
    row(START + "@fr", says="must be a corpus such as"),
    row(START + "{box}/a@b.tsv", says="a@b.tsv, which does not exist"),
    row(GENERATE + LINKS, says="a.links"),
    row(GENERATE + LINKS, writes("{box}/a.links", b"0-0\n"), says="1 lines"),
    row(GENERATE + LINKS, writes("{box}/a.links", b"0=0\n"), says="line 1"),
    row(GENERATE + LINKS + " --clean", says="with --clean"),
    row(START + "a.tsv" + LINKS, says="one pair of training files"),
    row(GENERATE + LANGUAGES, says="need a TMX file"),
    row("kt-datagen --problem=copy --data_dir={box}/d --train=a.tsv"),
    row(GENERATE.replace("--dev=", "--test="), says="no dev_source"),
    # What is in the files.
    row(GENERATE, removes("{texts}/train.de"), says="train.de"),
    row(GENERATE, writes("{texts}/train.de", b"a\n"), says="1 lines"),
    row(START + TSV, writes(TSV, b"a\tb\nc\n"), says="line 2, with 0 tabs"),
    row(START + TSV, writes(TSV, b"1\ta\tb\n"), says="line 1, with 2 tabs"),
    row(START + TSV, writes(TSV, b""), says="nothing at all"),
    row(
        START + TSV,
        writes(TSV, b"\t\n\ta\n"),
        says="with an empty side",
    ),
    row(START + TSV, writes(TSV, b"a\t\xff\n"), says="line 1"),
    row(
        START + GZIP,
        writes(GZIP, gzip.compress(b"a\tb\n" * 999)),
        truncates(GZIP, 0.5),
        says="a.tsv.gz is damaged",
    ),
    row(START + TMX, writes(TMX, WHOLE), says="--source_language"),
    row(START + TMX + LANGUAGES, writes(TMX, WHOLE[:-9]), says="well-formed"),
    row(START + TMX + LANGUAGES, writes(TMX, b"a\tb\n"), says="XML: syntax"),
    row(START + TMX + LANGUAGES, writes(TMX, b""), says="no element found"),
    row(START + TMX + LANGUAGES, writes(TMX, b"<tmx/>"), says="none"),
    row(
        START + TMX + " --source_language=en --target_language=fr",
        writes(TMX, WHOLE),
        says=("the file has de, en", "target_language=fr"),
    ),
    accepted(
        GENERATE + f":0.5 --train={TMX}@de:2" + LANGUAGES,
        writes(TMX, WHOLE),
        prints="a.tmx@de: 1 pairs, 2 in an epoch",
        writes="d*",
        apart=True,
        cpu_seconds=30,
    ),
    # The text of a shortlist.
    row(EXPORT + f" --shortlist={TEXTS}", says="needs `--format=ctranslate2`"),
    row(EXPORT + " --format=saved_model_ids --shortlist=a.tsv", says="needs"),
    row(SHORTLIST, says="must be a corpus such as"),
    row(SHORTLIST + "a.docx", says="a.docx"),
    row(SHORTLIST + "a.tsv:2", says="must have no weight"),
    row(SHORTLIST + "{box}/gone.tsv", says="gone.tsv, which does not exist"),
    row(SHORTLIST + TEXTS + "@fr", says="<fr> has no id"),
    row(SHORTLIST + TEXTS, writes("{texts}/train.de", b"a\n"), says="1 lines"),
    row(
        SHORTLIST + TSV,
        writes(TSV, b""),
        says="a.tsv has no pair with text on both",
    ),
    row(
        SHORTLIST + TSV,
        writes(TSV, b"\t\n\ta\n"),
        says="a.tsv has no pair with text on both",
    ),
    row(SHORTLIST + TSV, writes(TSV, b"a\t\xff\n"), says="line 1"),
    row(SHORTLIST + TMX, writes(TMX, WHOLE), says="--source_language"),
    row(SHORTLIST + TEXTS + LANGUAGES, says="need a TMX file"),
    row(SHORTLIST + TEXTS + " --shortlist_size=0", says="from 1 to"),
    row(EXPORT + " --shortlist_size=20", says="needs `--shortlist`"),
    row(
        SHORTLIST.replace("{run}", "{parser}") + TEXTS,
        says="needs a run that translates",
    ),
    # The vocabulary.
    row(GIVEN, removes(MODEL), says="no vocab.model"),
    row(GIVEN + "/gone", says="gone"),
    row(GIVEN + "/run.json", says="run.json"),
    row(GIVEN, truncates(MODEL, 0.5), says="vocab.model"),
    row(GIVEN + " --symbols='<a>'", says="`--symbols` has no effect"),
    row(GIVEN + " --vocab_size=500", says="`--vocab_size` has no effect"),
    row(GENERATE + " --symbols='<a>,<a>'", says="occurs twice"),
    row(GENERATE + " --symbols=a,", says="which is empty"),
    row(GENERATE + " --symbols='a b'", says="has a space"),
    row(GENERATE + " --symbols='<unk>'", says="every vocabulary has"),
    row(GENERATE + " --vocabulary_temperature=5", says="several corpora"),
    row(GENERATE + " --vocabulary_temperature=0.5", says="from 1 to 1,000"),
    row(GENERATE + " --vocabulary_temperature=nan", says="from 1 to 1,000"),
    row(GENERATE + " --tokenized=maybe", says="true or false"),
    row("kt-datagen --problem=copy --data_dir={box}/d --tokenized"),
    row("kt-datagen --problem=copy --data_dir={box}/d --vocabulary={run}"),
    # The manifest.
    row(TRAIN, sets(MANIFEST, f"{CORPORA}.0.weight", "3"), says="weight"),
    row(TRAIN, sets(MANIFEST, f"{CORPORA}.0.weight", -3), says="corpora"),
    row(TRAIN, sets(MANIFEST, CORPORA, [{"name": "a"}]), says="sha256"),
]
