"""Directories that are no run, no data or no export."""

from damage import has
from damage import links
from damage import makes
from damage import removes
from rows import row

RUN = "kt-decoder --output_dir={run}"
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2"
RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
START = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2"
)
PLOT = "kt-plot --output_dir={run} --picture={box}/plot.png"
RECORD, HPARAMS = "{run}/run.json", "{run}/hparams.json"
SLOW = {"cpu_seconds": 60}
ROWS = [
    # Directories that are no run.
    row("kt-decoder --output_dir={box}/gone", says="gone"),
    row("kt-decoder --output_dir={box}", says="run.json"),
    row("kt-decoder --output_dir={run}/run.json", says="run.json"),
    row("kt-decoder --output_dir={run}/checkpoints", says="checkpoints"),
    row("kt-decoder --output_dir={data}", says="run.json"),
    row("kt-decoder --output_dir={data}/copy", says="run.json"),
    row("kt-decoder --output_dir={saved_model}/1/variables", says="run"),
    row("kt-decoder --output_dir=/dev/null", says="/dev/null"),
    row("kt-decoder --output_dir=/", says="run.json"),
    row("kt-decoder --output_dir='{run} '", says="run"),
    row("kt-decoder --output_dir='a\nb'", says="a"),
    row("kt-decoder --output_dir='\udcfe\udcff'", says="output_dir"),
    row("kt-decoder --output_dir=a\0b", says="output_dir"),
    row(f"kt-decoder --output_dir={'a' * 300}", says="output_dir"),
    row(f"kt-decoder --output_dir={'a/' * 3000}", says="output_dir"),
    row("kt-decoder --output_dir=~nobody_here/run", says="nobody_here"),
    row("kt-decoder --output_dir=$RUN", says="$RUN"),
    row("kt-decoder --output_dir={box}/loop", links("{box}/loop", "loop")),
    row("kt-decoder --output_dir={run}", removes(RECORD), says="run.json"),
    # Ensembles of which one part is no run, or another kind of run.
    row("kt-decoder --output_dir={run},{box}/gone", says="gone"),
    row("kt-decoder --output_dir={run},", says="for each model"),
    row("kt-decoder --output_dir=,", says="for each model"),
    row("kt-decoder --output_dir={run},{saved_model}", says="exported"),
    row("kt-decoder --output_dir={ctranslate2},{run}", says="exported"),
    row(
        "kt-decoder --output_dir={run},{parser}",
        says=("same vocabulary", "/run and ", "/parser with "),
    ),
    row(
        "kt-decoder --output_dir={run},{averaged} --checkpoint_step=1500",
        says="averaged/checkpoints",
    ),
    row("kt-evaluate --output_dir={run},{parser}", says="same vocabulary"),
    row("kt-evaluate --output_dir={run},{data}", says="run.json"),
    row(
        "kt-evaluate --output_dir={run},{averaged} --evalb_files",
        has("{data}"),
        says="a single run",
    ),
    row("kt-exporter --output_dir={run},{averaged}", says="one run to export"),
    row(
        "kt-attention --output_dir={run},{averaged} --text=a --picture=a.png",
        says="one run to look into",
    ),
    row(RUN + " --rerank_by={box}/gone", says=("an existing run", "gone")),
    row(RUN + " --target_language=fr", says="<fr> has no id"),
    row(RUN + " --target_language=f/r", says="must be at most 32 letters"),
    row(
        "kt-decoder --output_dir={parser} --target_language=fr",
        says="<fr> has no id",
    ),
    row(
        "kt-decoder --output_dir={ctranslate2} --target_language=fr",
        says="<fr> has no id",
        apart=True,
    ),
    row(RUN + " --rerank_by={data}", says="`--rerank_by`"),
    row(RUN + " --rerank_by={run},{parser}", says="same vocabulary"),
    row(RUN + " --rerank_by={saved_model}", says="an exported model"),
    row(RUN + " --rerank_by={ctranslate2}", says="an exported model"),
    row(RUN + " --rerank_by={parser}", says="one that parses"),
    row(
        "kt-decoder --output_dir={parser} --rerank_by={run}",
        says="one that parses",
    ),
    row(
        "kt-decoder --output_dir={saved_model} --rerank_by={run}",
        says="does not support `--rerank_by`",
    ),
    row(
        "kt-decoder --output_dir={ctranslate2} --rerank_by={run}",
        says="does not support `--rerank_by`",
    ),
    row(
        RUN + " --rerank_by={run} --decode_hparams=mbr_samples=8",
        says="with reranking",
    ),
    row("kt-evaluate --output_dir={saved_model}", says="run.json"),
    row("kt-evaluate --output_dir={ctranslate2}", says="run.json"),
    row("kt-evaluate --output_dir={run} --data_dir={box}/gone", says="gone"),
    row("kt-evaluate --output_dir={run} --data_dir={run}", says="kt-datagen"),
    row("kt-avg-checkpoints --output_dir={saved_model}", says="run.json"),
    row("kt-avg-checkpoints --output_dir={data}", says="run.json"),
    row("kt-avg-checkpoints --output_dir={box}/gone", says="gone"),
    row(AVERAGE + " --averaged_dir={run}", says="averaged_dir"),
    row(AVERAGE + " --averaged_dir={run}/.", says="averaged_dir"),
    row(AVERAGE + " --averaged_dir={run}/run.json", says="run.json"),
    row(AVERAGE + " --averaged_dir=/proc/a", says="/proc/a"),
    row(AVERAGE + " --averaged_dir={data}", says="averaged_dir"),
    row(AVERAGE + " --averaged_dir={run}/checkpoints", says="averaged_dir"),
    row(AVERAGE + " --num_last_checkpoints=3", says="3"),
    row("kt-exporter --output_dir={saved_model}", says="run.json"),
    row("kt-exporter --output_dir={ctranslate2}", says="run.json"),
    row("kt-exporter --output_dir={data}", says="run.json"),
    row(EXPORT + " --export_dir={run}", says="export_dir"),
    row(EXPORT + " --export_dir={run}/run.json", says="run.json"),
    row(EXPORT + " --export_dir={data}", says="export_dir"),
    row(EXPORT + " --export_dir=/proc/e", says="/proc/e"),
    row(EXPORT + " --export_dir={saved_model}", says="export_dir"),
    row(EXPORT + " --export_dir={ctranslate2}", says="version 0.1"),
    row("kt-exporter --output_dir={run} --checkpoint_step=2", says="step 2"),
    row("kt-trainer --output_dir={saved_model}", says="`--problem`"),
    row("kt-trainer --output_dir={data}", says="`--problem`"),
    row("kt-trainer --output_dir={averaged} --data_dir={data}", says="average"),
    row(RESUME + " --output_dir={run}/run.json", says="run.json"),
    row(START + " --output_dir={texts}/dev.en", says="dev.en", **SLOW),
    row(START + " --output_dir=/proc/new", says="/proc/new", **SLOW),
    row(START + " --output_dir=/dev/null/new", says="/dev/null", **SLOW),
    row(START + " --data_dir={run}", says="kt-datagen"),
    row(START + " --data_dir={box}/gone", says="kt-datagen"),
    row(START + " --data_dir={data}/copy", says="the directory around it"),
    row(START + " --problem=reverse", says="kt-datagen"),
    row(START + " --warm_start_from={data}", says="the directory of a run"),
    row(START + " --warm_start_from={box}/new", says="new"),
    row(START + " --warm_start_from={saved_model}", says="directory of a run"),
    row(START + " --warm_start_from={run}", says="warm_start_from"),
    row("kt-serve --export_dir={run}", says="version"),
    row("kt-serve --export_dir={saved_model}/1", says="version"),
    row(
        "kt-serve --export_dir={ctranslate2}",
        removes("{ctranslate2}/vocab.model"),
        says="vocab.model",
        apart=True,
    ),
    row("kt-serve --export_dir={box}/gone", says="gone"),
    row("kt-serve --export_dir={run}/run.json", says="run.json"),
    row(
        "kt-serve --export_dir={saved_model} --host=no.such.invalid", apart=True
    ),
    row(
        "kt-serve --export_dir={saved_model} --host=256.1.1.1",
        says="host",
        apart=True,
    ),
    row("kt-serve --export_dir={saved_model} --host=", says="host", apart=True),
    row(
        "kt-serve --export_dir={saved_model} --model_name=",
        says="model_name",
        apart=True,
    ),
    row("kt-serve --export_dir={saved_model} --model_name=a/b:c", apart=True),
    row("kt-attention --output_dir={saved_model} --text=a --html=a.html"),
    row("kt-attention --output_dir={ctranslate2} --text=a --html=a.html"),
    row(
        "kt-attention --output_dir={run} --checkpoint_step=9 --text=a --html=a"
    ),
    row("kt-studio --output_dir={box}/gone", says="gone"),
    row("kt-studio --output_dir={saved_model}", says="run.json"),
    row("kt-studio --output_dir={run} --checkpoint_step=9", says="step 9"),
    row("kt-studio --output_dir={run} --host=no.such.invalid", says="host"),
    row("kt-plot --output_dir={saved_model} --picture=a.png", says="metrics"),
    row("kt-plot --output_dir={run},{box}/gone --picture=a.png", says="gone"),
    row("kt-plot --output_dir={run}, --picture=a.png", says="by commas"),
    row("kt-plot --output_dir={averaged} --picture=a.png", says="metrics"),
    row(PLOT + " --metric=accuracy", says="dev_accuracy"),
    row(PLOT + " --metric=", says="metric"),
    row(PLOT + " --metric=step", says="metric"),
    row(PLOT + " --picture=a.jpeg", says=".png"),
    row(PLOT + " --picture={run}", says=".png"),
    row(PLOT + " --picture=no/such/a.png", says="no/such"),
    row(PLOT + " --picture=/proc/a.png", says="/proc/a.png"),
    row(PLOT + " --picture={run}/run.json/a.png", says="run.json"),
    row(PLOT, makes("{box}/plot.png"), says="plot.png"),
    row("kt-decoder --output_dir={run} --tokenized", stdin=b"a", **SLOW),
    row(
        "kt-decoder --output_dir={ctranslate2}",
        removes("{ctranslate2}/export.json"),
    ),
]
