"""Vocabularies that are damaged, missing, or not those of the model."""

from damage import copies
from damage import flips
from damage import grows
from damage import links
from damage import makes
from damage import removes
from damage import truncates
from damage import writes
from rows import row

RUN = "kt-decoder --output_dir={run}"
FAST = "kt-decoder --output_dir={ctranslate2}"
START = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2"
)
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2"
ATTENTION = "kt-attention --output_dir={run} --text=a --html=a.html"
OF_RUN, OF_DATA = "{run}/vocab.model", "{data}/copy/vocab.model"
OF_FAST, OWN = "{ctranslate2}/vocab.model", "{box}/spm.model"
OTHER = "{text_data}/translate_files/vocab.model"
GENERATE = (
    "kt-datagen --problem=translate_files --data_dir={box}/d "
    "--train_source={texts}/train.en --train_target={texts}/train.de "
    "--dev_source={texts}/dev.en --dev_target={texts}/dev.de "
)
ROWS = [
    row(GENERATE + "--shared_vocabulary=maybe", says="shared_vocabulary"),
    row(
        GENERATE + "--source_vocab_size=300",
        says="separate vocabulary of the source",
    ),
    row(
        GENERATE + "--shared_vocabulary=false --vocab_size=400 "
        "--source_vocab_size=3",
        says="vocab_size=3",
    ),
    row(
        "kt-datagen --problem=copy --data_dir={box}/d "
        "--shared_vocabulary=false",
        says="needs translate_files",
    ),
    row(
        "kt-datagen --problem=translate_files --data_dir={text_data} "
        "--shared_vocabulary=false --vocab_size=400 "
        "--train_source={texts}/train.en --train_target={texts}/train.de "
        "--dev_source={texts}/dev.en --dev_target={texts}/dev.de",
        says="shared_vocabulary=False",
    ),
    row(RUN, removes(OF_RUN), stdin=b"a", says="vocab.model"),
    row(RUN, makes(OF_RUN), stdin=b"a", says="vocab.model"),
    row(RUN, writes(OF_RUN, b""), stdin=b"a", says="vocab.model"),
    row(RUN, writes(OF_RUN, b"a\n" * 9), stdin=b"a", says="vocab.model"),
    row(RUN, writes(OF_RUN, b"\0" * 99), stdin=b"a", says="vocab.model"),
    row(RUN, writes(OF_RUN, b"\xff" * 99), stdin=b"a", says="vocab.model"),
    row(RUN, truncates(OF_RUN, 0.5), stdin=b"a", says="vocab.model"),
    row(RUN, truncates(OF_RUN, 0.99), stdin=b"a", says="vocab.model"),
    row(RUN, flips(OF_RUN, 0.1), stdin=b"a", says="vocab.model"),
    row(RUN, flips(OF_RUN, 0.9), stdin=b"a", says="vocab.model"),
    row(RUN, links(OF_RUN, OF_RUN), stdin=b"a", says="vocab.model"),
    row(RUN, grows(OF_RUN, 2**33), stdin=b"a", says="vocab.model"),
    row(RUN, copies(OF_RUN, OTHER), stdin=b"a", says="vocab.model"),
    row(RUN, copies(OF_RUN, "{run}/hparams.json"), stdin=b"a", says="vocab."),
    row(EXPORT, writes(OF_RUN, b""), says="vocab.model"),
    row(EXPORT, removes(OF_RUN), says="vocab.model"),
    row(EXPORT, copies(OF_RUN, OTHER), says="vocab.model"),
    row(ATTENTION, writes(OF_RUN, b"a"), says="vocab.model"),
    row(ATTENTION, removes(OF_RUN), says="vocab.model"),
    row(START, removes(OF_DATA), says="vocab.model"),
    row(START, writes(OF_DATA, b""), says="vocab.model"),
    row(START, truncates(OF_DATA, 0.5), says="vocab.model"),
    row(START, copies(OF_DATA, OTHER), says="vocab"),
    row(FAST, removes(OF_FAST), stdin=b"a", says="ctranslate2"),
    row(FAST, writes(OF_FAST, b""), stdin=b"a", says="vocab.model"),
    row(FAST, truncates(OF_FAST, 0.5), stdin=b"a", says="vocab.model"),
    row(FAST, copies(OF_FAST, OTHER), stdin=b"a", says="vocab.model"),
]
