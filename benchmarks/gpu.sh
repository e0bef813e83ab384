#!/usr/bin/env bash
# Measures training and decoding on one GPU, beside other programs.
#
#     bash benchmarks/gpu.sh REPORT_DIR
#
# It writes REPORT_DIR/gpu.md, a page of tables, and REPORT_DIR/figures.jsonl, one line
# of JSON for each row. A row that fails says so on the page, its log stays in
# REPORT_DIR/logs, and the next row follows. A second start measures only what is missing.
#
# The programs may live in several environments, since their CUDA libraries differ:
#     PYTHON         this package with '.[test,jax]' and tensorflow[and-cuda]
#     JAX_PYTHON     this package with jax[cuda12]
#     KERAS_PYTHON   this package, tensorflow[and-cuda] and keras-hub
#     TORCH_PYTHON   this package and torch
# Each defaults to PYTHON, and PYTHON to python3.
#
# SIZE=tiny tries the script with the smallest model, for example on a processor.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
report_dir=$(realpath -m "${1:?The first argument is the directory of the report.}")
PYTHON=${PYTHON:-python3}
JAX_PYTHON=${JAX_PYTHON:-$PYTHON}
KERAS_PYTHON=${KERAS_PYTHON:-$PYTHON}
TORCH_PYTHON=${TORCH_PYTHON:-$PYTHON}
export PYTHONPATH=$PWD TF_CPP_MIN_LOG_LEVEL=2
SIZE=${SIZE:-full}
if [ "$SIZE" = tiny ]; then
    sets=(tiny) positions=(512) sentences=40 device=cpu
else
    sets=(base big) positions=(16384 32768) sentences=2000 device=cuda
fi
text=$report_dir/text logs=$report_dir/logs
mkdir -p "$text" "$logs"
touch "$report_dir/figures.jsonl"

# measure NAME COMMAND...: appends the command's last line, a JSON object, as a row.
measure() {
    local name=$1 log
    shift
    log=$logs/${name//[^a-zA-Z0-9_.]/_}.log
    grep -qF "\"row\": \"$name\"" "$report_dir/figures.jsonl" && return
    echo "$name"
    if "$@" >"$log" 2>"$log.stderr"; then
        echo "{\"row\": \"$name\", \"figures\": $(tail -n 1 "$log")}" \
            >>"$report_dir/figures.jsonl"
    else
        echo "  failed: $(tail -n 1 "$log.stderr")"
    fi
}

# Lines of three sentences of the toy language, a vocabulary and a run of each size.
[ -f "$text/train.source" ] || "$PYTHON" benchmarks/gpu_report.py text "$text" || exit 1
head -n "$sentences" "$text/train.source" >"$text/test.source"
training_text=(--train_source="$text/train.source" --train_target="$text/train.target"
    --vocabulary="$text/vocabulary.model")

tests="tests/layers tests/search"
[ "$SIZE" = tiny ] && tests=tests/layers/fused_attention_test.py
for backend in tensorflow jax; do
    python=$PYTHON
    [ $backend = jax ] && python=$JAX_PYTHON
    measure "tests on $backend" env KERAS_BACKEND=$backend \
        bash -c "$python -m pytest -q -m 'not slow' $tests && echo '{}'"
done
[ "$SIZE" = tiny ] || measure "tests of the engines" \
    bash -c "$PYTHON -m pytest -q -m 'not slow' tests/engines && echo '{}'"

for set in "${sets[@]}"; do
    for count in "${positions[@]}"; do
        options=(benchmarks/measure.py --mode=train "${training_text[@]}"
            --hparams_set="transformer_$set" --precision=bfloat16)
        hparams=batch_tokens=$count,effective_batch_tokens=0
        where="train $set, $count positions"
        measure "$where, here, TensorFlow" env KERAS_BACKEND=tensorflow \
            "$PYTHON" "${options[@]}" --hparams="$hparams"
        measure "$where, here, JAX" env KERAS_BACKEND=jax \
            "$JAX_PYTHON" "${options[@]}" --hparams="$hparams"
        measure "$where, here, JAX, fused attention" env KERAS_BACKEND=jax \
            "$JAX_PYTHON" "${options[@]}" --hparams="$hparams,fused_attention=true"
        peer=(benchmarks/training_peers.py --size="$set" --positions="$count"
            --text="$text")
        measure "$where, keras-hub, TensorFlow" env KERAS_BACKEND=tensorflow \
            "$KERAS_PYTHON" "${peer[@]}" --peer=keras_hub
        measure "$where, torch" "$TORCH_PYTHON" "${peer[@]}" --peer=torch
        measure "$where, torch, compiled" "$TORCH_PYTHON" "${peer[@]}" --peer=torch \
            --compile
    done
done

for set in "${sets[@]}"; do
    run=$report_dir/run_$set
    [ -d "$run" ] || "$PYTHON" -m keras_transformer.bin.trainer \
        --problem=translate_files --data_dir="$text/data" --output_dir="$run" \
        --hparams_set="transformer_$set" --batch_tokens=2048 --train_steps=2 \
        --eval_frequency=2 >"$logs/run_$set.log" 2>&1
    for beam in 1 4; do
        for precision in float32 bfloat16; do
            measure "decode $set, beam $beam, here, $precision" \
                "$PYTHON" benchmarks/measure.py --mode=decode \
                --output_dir="$run" --decode_from_file="$text/test.source" \
                --target_length=24 --precision="$precision" --batch_size=128 \
                --decode_hparams="beam_size=$beam"
        done
        for precision in float16 int8_float16; do
            [ "$device" = cpu ] && precision=${precision/_float16/}
            [ "$device" = cpu ] && precision=${precision/float16/float32}
            measure "decode $set, beam $beam, CTranslate2, $precision" \
                "$PYTHON" benchmarks/ctranslate2_peer.py --run="$run" --beam="$beam" \
                --text="$text/test.source" --device="$device" --precision="$precision"
        done
    done
done

# Halving of the batch when memory is short, and its automatic size.
measure "batch_tokens=auto" "$PYTHON" benchmarks/gpu_report.py auto "$text" \
    "transformer_${sets[0]}"
"$PYTHON" benchmarks/gpu_report.py page "$report_dir" | tee "$report_dir/gpu.md"
