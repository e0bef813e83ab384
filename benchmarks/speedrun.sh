#!/usr/bin/env bash
# Trains the model of 2.6 million weights from the raw files of Multi30k, and prints the
# time and the BLEU on test. docs/speedrun.md has the records.
#
#     bash benchmarks/speedrun.sh CORPUS RUN_DIR [SEED]
#
# CORPUS has the files of data/task1/tok in the repository multi30k/dataset, and RUN_DIR
# must not exist. The clock stops when the last model is trained, before it is scored.
set -euo pipefail
corpus=$(realpath "${1:?The first argument is the directory of the corpus.}")
run_dir=${2:?The second argument is a new directory for the run.}
seed=${3:-0}
mkdir "$run_dir"
cd "$run_dir"
for language in en de; do
    ln -s "$corpus/train.lc.norm.tok.$language" "train.$language"
    ln -s "$corpus/val.lc.norm.tok.$language" "dev.$language"
    ln -s "$corpus/test_2016_flickr.lc.norm.tok.$language" "test.$language"
done
files=(--dev=dev.en,dev.de --test=test.en,test.de)
SECONDS=0
say() { printf '%d:%02d %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$1"; }

kt-datagen --problem=translate_files --data_dir=data --vocab_size=10000 \
    --train=train.en,train.de "${files[@]}"
say "the text is encoded"
kt-trainer --problem=translate_files --data_dir=data --output_dir=first \
    --hparams_set=transformer_tiny_fast --random_seed="$seed" --eval_frequency=5000
say "the first model is trained"
# Its status is 3, since a few of these translations repeat themselves.
kt-decoder --output_dir=first --beam_size=4 --alpha=1.0 \
    --decode_from_file=train.en --decode_to_file=distilled.de || [ $? = 3 ]
say "the first model has translated the training text"
kt-datagen --problem=translate_files --data_dir=data_distilled --vocabulary=first \
    --train=train.en,train.de --train=train.en,distilled.de "${files[@]}"
kt-trainer --problem=translate_files --data_dir=data_distilled --output_dir=second \
    --warm_start_from=first --hparams_set=transformer_tiny_fast \
    --hparams=dropout=0.2,peak_learning_rate=0.003,warmup_steps=200,decay_steps=2500 \
    --train_steps=2500 --random_seed="$seed" --eval_frequency=2500
say "the second model is trained"
kt-evaluate --output_dir=second --split=test --beam_size=5 --alpha=1.4 --tokenize=none
