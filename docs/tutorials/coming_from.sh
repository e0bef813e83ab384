#!/bin/bash
# Types ten command lines of tensor2tensor's README and other pages, in an empty
# directory: `kt-` takes the place of `t2t-`, small values that of large ones,
# and nonsense that of the downloads.
set -e -o pipefail
PROBLEM=translate_enes_wmt8k
MODEL=transformer
HPARAMS=transformer_base_single_gpu
DATA_DIR=t2t_data
TMP_DIR=t2t_datagen
TRAIN_DIR=t2t_train/$PROBLEM/$MODEL-$HPARAMS
USR_DIR=my_problems
mkdir -p $DATA_DIR $TMP_DIR $TRAIN_DIR $USR_DIR

python - <<END
import pathlib
import random

letters = "abcdefghijklmnopqrstuvwxyz" * 2
words = ["".join(random.sample(letters, 7)) for _ in range(20000)]
for split, lines in ("train", words), ("dev", words[:50]):
    for language in ("en", "es"):
        path = pathlib.Path(f"$TMP_DIR/translate_enes_wmt.{split}.{language}")
        path.write_text("\n".join(lines))
END
cat > $USR_DIR/__init__.py <<END
from keras_transformer import Problem, register_problem


@register_problem
class PoetryLines(Problem):
    vocab_size = 290

    def text_pairs(self, split, tmp_dir):
        for number in range(100):
            yield f"line {number} of a poem", f"line {number + 1} of a poem"
END

# 1: what there is
kt-trainer --registry_help

# 2: generate data
kt-datagen \
  --data_dir=$DATA_DIR \
  --tmp_dir=$TMP_DIR \
  --problem=$PROBLEM

# 3: train; if you run out of memory, batch_size=1024 helps
kt-trainer \
  --data_dir=$DATA_DIR \
  --problem=$PROBLEM \
  --model=$MODEL \
  --hparams_set=$HPARAMS \
  --output_dir=$TRAIN_DIR \
  --hparams='batch_size=1024,num_hidden_layers=1,hidden_size=64' \
  --schedule=train \
  --train_steps=20 \
  --eval_steps=10

# 4: decode; the status 3 means that there are warnings
DECODE_FILE=$DATA_DIR/decode_this.txt
echo "Hello world" >> $DECODE_FILE
echo "Goodbye world" >> $DECODE_FILE
echo -e 'Hola mundo\nAdiós mundo' > ref-translation.es
BEAM_SIZE=4
ALPHA=0.6
kt-decoder \
  --data_dir=$DATA_DIR \
  --problem=$PROBLEM \
  --model=$MODEL \
  --hparams_set=$HPARAMS \
  --output_dir=$TRAIN_DIR \
  --decode_hparams="beam_size=$BEAM_SIZE,alpha=$ALPHA" \
  --decode_from_file=$DECODE_FILE \
  --decode_to_file=translation.es || test $? = 3

# 5: evaluate the BLEU score; t2t-bleu is kt-evaluate
kt-evaluate --translation=translation.es --reference=ref-translation.es

# 6: data of a problem of your own
kt-datagen \
  --t2t_usr_dir=$USR_DIR \
  --data_dir=$DATA_DIR \
  --tmp_dir=$TMP_DIR \
  --problem=poetry_lines

# 7: train on it
kt-trainer \
  --t2t_usr_dir=$USR_DIR \
  --data_dir=$DATA_DIR \
  --problem=poetry_lines \
  --model=transformer \
  --hparams_set=transformer_tiny \
  --output_dir=poetry \
  --train_steps=20 \
  --local_eval_frequency=10

# 8: export
kt-exporter \
  --model=$MODEL \
  --hparams_set=$HPARAMS \
  --problem=$PROBLEM \
  --data_dir=$DATA_DIR \
  --output_dir=$TRAIN_DIR

# 9: ask a server
kt-serve --export_dir=$TRAIN_DIR/export --model_name=my_model \
  --port=${PORT:-9000} --rest_api_port=0 &
trap 'kill %1' EXIT
until kt-query \
  --server=localhost:${PORT:-9000} \
  --servable_name=my_model \
  --problem=$PROBLEM \
  --data_dir=$DATA_DIR \
  --inputs_once="Hello world"
do
  sleep 1
  kill -0 %1
  test $SECONDS -lt 900
done

# 10: what each of several machines needs
kt-make-tf-configs --masters='10.0.0.1:5555,10.0.0.2:5555'
