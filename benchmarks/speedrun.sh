#!/usr/bin/env bash
# Trains the model of 2.6 million weights from the raw files of Multi30k, and prints the
# time and the BLEU on test. docs/speedrun.md has the records.
#
#     bash benchmarks/speedrun.sh CORPUS RUN_DIR [SEED]
#
# CORPUS has the files of data/task1/tok in the repository multi30k/dataset, and RUN_DIR
# must not exist. It needs Linux and two cores. The clock stops when the last model is trained, before it is scored.
set -euo pipefail
corpus=$(realpath "${1:?The first argument is the directory of the corpus.}")
run_dir=${2:?The second argument is a new directory for the run.}
seed=${3:-0}
mkdir -p "$(dirname "$run_dir")"
mkdir "$run_dir"
cd "$run_dir"
for language in en de; do
    ln -s "$corpus/train.lc.norm.tok.$language" "train.$language"
    ln -s "$corpus/val.lc.norm.tok.$language" "dev.$language"
    ln -s "$corpus/test_2016_flickr.lc.norm.tok.$language" "test.$language"
done
files=(--dev=dev.en,dev.de --test=test.en,test.de)
# Two cores that this process may use.
cores=($(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2])'))
SECONDS=0
say() { printf '%d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1"; }

# Trains a model on one core, and lets it translate its side of the training text.
learn() {
    local core=$1 problem=$2 run=$3 sources=$4 translations=$5
    taskset --cpu-list "$core" kt-trainer --problem="$problem" --data_dir=data \
        --output_dir="$run" --hparams_set=transformer_tiny_fast \
        --random_seed="$seed" --eval_frequency=5000
    say "$run is trained"
    # Its status is 3, since a few of these translations repeat themselves.
    taskset --cpu-list "$core" kt-decoder --output_dir="$run" --beam_size=4 \
        --alpha=1.0 --decode_from_file="$sources" --decode_to_file="$translations" \
        2> "$run.warnings" || [ $? = 3 ]
    say "$run has translated its side of the training text"
}

kt-datagen --problem=translate_files --data_dir=data --vocab_size=10000 \
    --train=train.en,train.de "${files[@]}"
say "the text is encoded"
learn "${cores[0]}" translate_files forward train.en distilled.de > forward.log 2>&1 &
forward=$!
learn "${cores[1]}" translate_files_rev reverse train.de back.en > reverse.log 2>&1 &
reverse=$!
wait "$forward"
wait "$reverse"
say "both directions are trained and have translated the training text"
kt-datagen --problem=translate_files --data_dir=data_diverse --vocabulary=forward \
    --train=train.en,train.de --train=train.en,distilled.de --train=back.en,train.de \
    "${files[@]}"
kt-trainer --problem=translate_files --data_dir=data_diverse --output_dir=last \
    --warm_start_from=forward --hparams_set=transformer_tiny_fast \
    --hparams=peak_learning_rate=0.003,warmup_steps=200 \
    --random_seed="$seed" --eval_frequency=5000
say "the last model is trained"
kt-evaluate --output_dir=last --split=test --beam_size=5 --alpha=1.4 --tokenize=none
