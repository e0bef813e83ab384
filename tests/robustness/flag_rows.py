"""Flags that are misspelt, of the wrong kind, missing, or at odds."""

from damage import has
from rows import accepted
from rows import row

COUNT = "an integer"
UNKNOWN = "Unknown flag"
GENERATE = "kt-datagen --problem=copy --data_dir={box}/d "
CLEAN = "kt-clean --source={texts}/dev.en --target={texts}/dev.de "
CLEAN += "--clean_source={box}/a --clean_target={box}/b "
FIGURE = "kt-attention --output_dir={run} --html=a.html --figure"
FIND = "kt-attention --output_dir={run} --find"
BLEU = "kt-evaluate --hypotheses={texts}/dev.de --references={texts}/dev.de "
ROWS = [
    # One flag of each kind meets what is no number or no step. That each flag
    # refuses a wrong value stands in `each_flag_test`.
    row("kt-decoder --beam_size=4.0", says=COUNT),
    row("kt-decoder --beam_size=1e1", says=COUNT),
    row("kt-decoder --beam_size=", says=COUNT),
    row("kt-decoder '--beam_size=4\n4'", says=COUNT),
    row("kt-decoder --beam_size=None", says=COUNT),
    row(f"kt-decoder --beam_size={'9' * 5000}", says=COUNT),
    row("kt-decoder --output_dir={run} --beam_size=1000000000", says="1,000"),
    row("kt-decoder --alpha=1e999", says="a number"),
    row("kt-decoder --alpha=", says="a number"),
    row("kt-decoder --checkpoint_step=", says="best"),
    row("kt-trainer --output_dir={run} --device=P101", says="P100"),
    row("kt-trainer --output_dir={run} --device=-1e12", says="9.5e12"),
    row("kt-trainer --noeffective_batch_tokens", says="effective_batch"),
    row("kt-evaluate --language=german", says="a code such as de"),
    # Switches.
    row(
        "kt-decoder --output_dir={run} --write_alignments --score_file=a",
        says="--score_file",
    ),
    row(
        "kt-decoder --output_dir={run} --write_word_scores "
        "--decode_hparams=num_hypotheses=2",
        says="num_hypotheses=2",
    ),
    row(
        "kt-decoder --output_dir={ctranslate2} --write_alignments "
        "--decode_hparams=num_hypotheses=2",
        says="num_hypotheses=2",
    ),
    row("kt-decoder --output_dir={parser} --write_alignments", says="parsing"),
    row("kt-decoder --output_dir={run} --write_origins", says="jsonl"),
    row(
        "kt-decoder --output_dir={ctranslate2} --format=jsonl --write_origins",
        says=("--write_origins", "the run's directory"),
    ),
    row("kt-decoder --output_dir={run},{run} --write_alignments", says="one"),
    row(
        "kt-decoder --output_dir={saved_model} --write_word_scores",
        says="--write_word_scores",
    ),
    row("kt-decoder --write_scores=", says="true or false"),
    row("kt-decoder --nowrite_scores=true", says="nowrite_scores"),
    row("kt-decoder --nooutput_dir", says=UNKNOWN),
    # Names, and words that are no flags.
    row("kt-decoder --beamsize=4", says="--beam_size"),
    row("kt-decoder --Beam_Size=4", says=UNKNOWN),
    row("kt-decoder --beam-size=4", says="--beam_size"),
    row("kt-decoder -o run", says=UNKNOWN),
    row("kt-decoder --=x", says="--=x"),
    row("kt-decoder ---beam_size=4", says=UNKNOWN),
    row("kt-decoder --output_dir", says="output_dir"),
    row("kt-decoder run", says="must be flags"),
    row("kt-decoder --output_dir={run} in.txt out.txt", says="must be flags"),
    row("kt-decoder -- --output_dir={run}", says="must be flags"),
    row("kt-decoder –output_dir={run}", says="must be flags"),
    row("kt-decoder —output_dir={run}", says="must be flags"),
    row("kt-decoder '\n'", says="must be flags"),
    row("kt-decoder ''", says="must be flags"),
    row("kt-trainer --batch_size=32", says=UNKNOWN),
    row("kt-datagen --t2t_usr_dir=.", says="`usr_dir`"),
    row("kt-attention --output_dir={run} A dog runs.", says="must be flags"),
    row("kt-decoder --\udcff=1", says=UNKNOWN),
    # Flags that must be there; the shell makes an unset variable empty.
    row("kt-decoder", says="`--output_dir` must be given"),
    row("kt-decoder --output_dir=", says="`--output_dir` must be given"),
    row("kt-evaluate", says="must be given"),
    row("kt-evaluate --hypotheses={texts}/dev.de", says="references"),
    row(BLEU + "--references=a,", says="by commas"),
    row("kt-evaluate --output_dir={run} --html={box}/a", says="--compare"),
    row(
        "kt-evaluate --output_dir={run} --compare={run} --html={box}/gone/a",
        says="`--html`",
    ),
    row("kt-evaluate --references={texts}/dev.de", says="hypotheses"),
    row("kt-evaluate --hypotheses= --references=", says="must be given"),
    row("kt-trainer", says="`--output_dir` must be given"),
    row("kt-trainer --output_dir={box}/new", says="`--problem` must be"),
    row("kt-trainer --output_dir={box}/new --problem=copy", says="hparams_set"),
    row("kt-trainer --output_dir= --problem=copy", says="output_dir"),
    row(
        "kt-trainer --output_dir={box}/new --problem=copy "
        "--hparams_set=transformer_tiny --data_dir=",
        says="data_dir",
    ),
    row("kt-datagen", says="`--problem` must be given"),
    row("kt-datagen --problem=copy", says="`--data_dir` must be given"),
    row("kt-datagen --problem= --data_dir={box}/d", says="problem"),
    row("kt-avg-checkpoints", says="`--output_dir` must be given"),
    row("kt-exporter", says="`--output_dir` must be given"),
    row("kt-exporter --export_dir={box}/e", says="`--output_dir` must be"),
    row("kt-serve", says="`--export_dir` must be given"),
    row("kt-serve --export_dir=", says="`--export_dir` must be given"),
    row("kt-serve --models=en-es", says="`--models` must be pairs"),
    row("kt-serve --models={box}", says="`--models` must be pairs"),
    row("kt-serve --models=a=1,en-es=b", says="`--models` must be pairs"),
    row("kt-serve --models=en-es={box}", says="versions in folders"),
    row("kt-serve --models=en-es=a --languages=en-es", says="`--languages`"),
    row("kt-clean", says="`--source` must be given"),
    row("kt-clean --source={texts}/dev.en", says="`--target` must be given"),
    row(CLEAN + "--rules=empty,,dupes", says="duplicate"),
    row(CLEAN + "--max_ratio=0", says="at least 1"),
    row(CLEAN + "--target_script=klingon", says="klingon"),
    row(CLEAN + "--source_language=english", says="language"),
    row(CLEAN + "--clean_source={texts}/dev.de", says="must differ"),
    row(CLEAN + "--rejected={box}/b", says="must differ"),
    row(
        "kt-plot --output_dir={run} --plot_to_file={box}/a.png",
        says="--plot_to_file is now called --picture. Use the new name.",
    ),
    row("kt-plot --runs={run}", says="--runs is now called --output_dir"),
    row(
        "kt-attention --output_dir={run} --text=a --png={box}/a.png",
        says="--png is now called --picture",
    ),
    row(
        "kt-evaluate --output_dir={run} --compare={run} --report={box}/a",
        says="--report is now called --html",
    ),
    row("kt-plot", says="`--output_dir` must be given"),
    row("kt-plot --output_dir= --picture={box}/a.png", says="output_dir"),
    row("kt-plot --output_dir={run} --metric=", says="`--metric`"),
    row("kt-attention", says="`--output_dir` must be given"),
    row("kt-studio", says="`--output_dir` must be given"),
    row("kt-attention --output_dir={run}", says="`--text` must be given"),
    row("kt-attention --output_dir={run} --text=a", says="--html"),
    row("kt-attention --output_dir={run} --text= --html=a.html", says="text"),
    # Flags at odds with one another.
    row(
        "kt-decoder --output_dir={run} --decode_interactive "
        "--decode_from_file={texts}/dev.en",
        says="decode_interactive",
    ),
    row(
        "kt-decoder --output_dir={run} --score_file={texts}/dev.en "
        "--prefix_file={texts}/dev.en",
        says="score_file",
    ),
    row(
        "kt-trainer --output_dir={run} --measure=f1",
        has("{data}"),
        says="of these or loss",
    ),
    row(
        "kt-trainer --output_dir={run} --measure=ter",
        has("{data}"),
        says="started with bleu",
    ),
    row("kt-evaluate --output_dir={run} --split=train", says="--split"),
    row("kt-evaluate --output_dir={run} --evalb_files", has("{data}")),
    row(BLEU + "--stress", says="`--stress` needs a run"),
    row(BLEU + "--calibrate", says="`--calibrate` needs a run"),
    row("kt-evaluate --output_dir={run} --test_set=wmt14/fool", has("{data}")),
    row(BLEU + "--compare={texts}/train.de", says="same number of lines"),
    row(BLEU + "--compare={texts}", says="`--compare` must be a file"),
    row(BLEU + "--compare={box}/gone", says="`--compare` must be"),
    row("kt-evaluate --output_dir={run} --compare=gone", says="`--compare`"),
    row(
        "kt-evaluate --hypotheses={texts}/train.de --references={texts}/dev.de",
        says=("Files of the same text", "dev.de with"),
    ),
    *(
        row(BLEU + flag, says=f"`{flag.split('=')[0]}` needs a run")
        for flag in ("--output_dir=run", "--split=dev", "--beam_size=5")
    ),
    row(BLEU + "--measure=f1 --lowercase", says="needs BLEU, not F1"),
    row("kt-evaluate --output_dir={run} --measure=f1", has("{data}")),
    row(
        "kt-exporter --output_dir={run} --quantization=int8",
        says="--quantization",
    ),
    row(
        "kt-exporter --output_dir={run} --format=ctranslate2 "
        "--precision=bfloat16",
        says="--precision",
    ),
    row(f"{FIGURE}=6 --text=a", says="3, 4, 5"),
    row(f"{FIGURE}=3 --text=a --layer=0", says="--layer"),
    row(f"{FIGURE}=3 --text=a --layer=99", says="layer=99"),
    row(f"{FIGURE}=3 --text=a --heads=1,x", says="--heads=1,x"),
    row(f"{FIGURE}=3 --text=a --heads=0", says="heads=0"),
    row(f"{FIGURE}=4 --text=a --heads=1", says="two heads"),
    row(f"{FIGURE}=3 --text=a --word=b", says="word='b'"),
    row(f"{FIGURE}=5 --text=a --word=a", says="`--figure=3` or `--figure=4`"),
    row(f"{FIGURE}=3 --text=a --target_text=b", says="with --figure"),
    row(
        "kt-attention --output_dir={run} --text=a --html=a.html --word=a",
        says="needs `--figure=3`",
    ),
    row(f"{FIND}={{box}}/gone.txt", says="gone.txt"),
    row(f"{FIND}=/dev/null", says="has no sentences"),
    row(f"{FIND}=test --text=a", says="`--text` has no effect with --find"),
    row(f"{FIND}=test --figure=3", says="`--figure` has no effect with --find"),
    row("kt-serve --export_dir={saved_model} --port=0 --rest_api_port=0"),
    row("kt-serve --export_dir={saved_model} --port=9 --rest_api_port=9"),
    row(
        "kt-serve --export_dir={saved_model} --metrics --rest_api_port=0",
        says="needs `--rest_api_port`",
    ),
    row(
        "kt-serve --export_dir={saved_model} --api_keys=",
        says="`--api_keys` needs a value",
    ),
    row(
        "kt-serve --export_dir={saved_model} --access_log=",
        says="`--access_log` needs a value",
    ),
    row(
        "kt-serve --export_dir={saved_model} --api_keys={box}/a "
        "--access_log={box}/a",
        says="must differ",
    ),
    # Lines may be added to a device.
    row(
        "kt-serve --export_dir={box}/gone --access_log=/dev/null",
        says="`export_dir` must be a directory",
    ),
    row(
        "kt-serve --export_dir={saved_model} --api_keys={box}/gone",
        says="gone",
        apart=True,
    ),
    row(
        "kt-serve --export_dir={saved_model} --memory=",
        says="`--memory` needs a value",
    ),
    row("kt-decoder --output_dir={run} --memory=", says="`--memory` needs"),
    row("kt-studio --output_dir={run} --memory=", says="`--memory` needs"),
    row(
        "kt-serve --export_dir={saved_model} --memory={box}/memory",
        says="`--memory` needs the languages",
    ),
    row(
        "kt-serve --models=en-es={saved_model} --memory={box}/gone",
        says=("gone/en-es", "unable to open"),
    ),
    row(
        "kt-studio --output_dir={run} --memory={run}/run.json",
        says=("run.json", "not a database"),
    ),
    row(
        "kt-serve --export_dir={saved_model} --access_log={box}/gone/log",
        says="gone/log",
        apart=True,
    ),
    row("kt-trainer --output_dir={box}/new --profile_steps=10", says="must"),
    row("kt-trainer --output_dir={run} --profile_steps=20,10", has("{data}")),
    row("kt-trainer --output_dir={run} --profile_steps=a,b", has("{data}")),
    row("kt-datagen --problem=copy --data_dir={box}/d --vocab_size=500"),
    row("kt-datagen --problem=copy --data_dir={box}/d --skip_bad"),
    row("kt-datagen --problem=copy --data_dir={box}/d --clean", says="clean"),
    row("kt-datagen --problem=copy --data_dir={box}/d --train_source=a"),
    row("kt-datagen --problem=coppy --data_dir={box}/d", says="copy"),
    row("kt-datagen --problem=copy,nope --data_dir={box}/d", says="nope"),
    row("kt-datagen --problem=,, --data_dir={box}/d", says="problem"),
    row("kt-datagen --problem=copy_rev_rev --data_dir={box}/d"),
    row("kt-datagen --problem=copy_rev_both --data_dir={box}/d"),
    row(
        "kt-datagen --problem=parsing_toy_both --data_dir={box}/d",
        says="words as its source",
    ),
    row("kt-datagen --problem=../copy --data_dir={box}/d", says="../copy"),
    row("kt-datagen --problem=translate_files --data_dir={box}/d"),
    row("kt-datagen --problem=parsing_files --data_dir={box}/d"),
    row("kt-datagen --problem=\udcff --data_dir={box}/d", says="UTF-8"),
    row(GENERATE + "--pipeline_options=--region=a", says="--runner=local"),
    row(GENERATE + "--runner=flink --pipeline_options=region", says="--name"),
    row(GENERATE + "--runner=flink --pipeline_options=--runner=a"),
    row(GENERATE + "--runner=flink --pipeline_options=\\'", says="quotation"),
    row("kt-attention --output_dir={run} --text=\udcff --html=a.html"),
    row("kt-query --text=\udcff --protocol=rest", says="UTF-8"),
    # A repeated flag counts as given last.
    row("kt-decoder --beam_size=4 --beam_size=x", says="--beam_size=x"),
    row("kt-decoder --beam_size=x --beam_size=4", says="--beam_size=x"),
    accepted("kt-decoder --output_dir=/nowhere --help", prints="--beam_size"),
    accepted("kt-trainer --beam --help", prints="--hparams_set"),
    accepted("kt-trainer --registry_help", prints="transformer_base"),
]
