"""Hyper-parameters and decoding options that no model can have."""

from damage import has
from rows import row

NEW = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --hparams="
)
RESUMED = "kt-trainer --output_dir={run} --data_dir={data} "
DECODE = "kt-decoder --output_dir={run} --decode_hparams="
ROWS = [
    row(NEW + "d_model", says="name=value"),
    row(NEW + "d_model:64", says="name=value"),
    row(NEW + "=64", says="hparams"),
    row(NEW + "d_model=", says="d_model"),
    row(NEW + "d_modle=64", says="d_model"),
    row(NEW + "D_MODEL=64", says="d_model"),
    row(NEW + "model_size=64", says="model_size"),
    row(NEW + "d_model=64,d_model=32", says="once"),
    row(NEW + "__class__=1", says="__class__"),
    row(NEW + "d_model=x", says="d_model"),
    row(NEW + "d_model=0", says="d_model"),
    row(NEW + "d_model=-16", says="d_model"),
    row(NEW + "d_model=1_28", says="d_model"),
    row(NEW + "d_model=١٦", says="d_model"),
    row(NEW + "d_model=16.0", says="d_model"),
    row(NEW + "d_model=15", says="num_heads"),
    row(NEW + "d_model=15,num_heads=3", says="d_model` must be even"),
    row(NEW + "d_model=4000000000000", says="d_model"),
    row(NEW + f"d_model={'8' * 5000}", says="d_model"),
    row(NEW + "d_ff=0", says="d_ff"),
    row(NEW + "d_ff=1e3", says="d_ff"),
    row(NEW + "num_heads=0", says="num_heads"),
    row(NEW + "num_heads=3", says="num_heads"),
    row(NEW + "num_layers=0", says="num_layers"),
    row(NEW + "num_layers=-1", says="num_layers"),
    row(NEW + "num_layers=1000000000", says="num_layers"),
    row(NEW + "num_decoder_layers=-1", says="num_decoder_layers"),
    row(NEW + "num_decoder_layers=1001", says="num_decoder_layers"),
    row(NEW + "num_decoder_layers=1.5", says="num_decoder_layers"),
    row(NEW + "d_k=-1", says="d_k"),
    row(NEW + "dropout=1", says="dropout"),
    row(NEW + "dropout=1.5", says="dropout"),
    row(NEW + "dropout=-0.1", says="dropout"),
    row(NEW + "dropout=nan", says="dropout"),
    row(NEW + "dropout=inf", says="dropout"),
    row(NEW + "dropout=ten", says="dropout"),
    row(NEW + "dropout=0,1", says="name=value"),
    row(NEW + "dropout=0_1.0", says="dropout"),
    row(NEW + "attention_dropout=2", says="attention_dropout"),
    row(NEW + "subword_dropout=1", says="subword_dropout"),
    row(NEW + "subword_dropout=-0.1", says="subword_dropout"),
    row(NEW + "source_noise=1.1", says="source_noise"),
    row(NEW + "label_smoothing=1", says="label_smoothing"),
    row(NEW + "label_smoothing=-1", says="label_smoothing"),
    row(NEW + "consistency=rdrop", says="simcut"),
    row(NEW + "consistency=r_drop,dropout=0", says="both passes"),
    row(NEW + "consistency_weight=-1", says="consistency_weight"),
    row(NEW + "token_cutoff=1", says="token_cutoff"),
    row(NEW + "guided_alignment=-1", says="guided_alignment"),
    row(NEW + "guided_alignment=0.1", says="--train_alignments"),
    row(NEW + "guided_alignment=0.1,packed=true", says="with `packed`"),
    row(NEW + "norm=layer", says="norm"),
    row(NEW + "norm=", says="norm"),
    row(NEW + "norm=POST", says="norm"),
    row(NEW + "positional_encoding=rotary", says="positional_encoding"),
    row(NEW + "initializer=xavier", says="initializer"),
    row(NEW + "tied_embeddings=source", says="'target' or 'none'"),
    row(NEW + "neighbourhood_size=-2", says="neighbourhood_size"),
    row(NEW + "max_length=0", says="max_length"),
    row(NEW + "batch_tokens=0", says="batch_tokens"),
    row(NEW + "batch_tokens=8", says="batch_tokens"),
    row(NEW + "batch_tokens=10000000000000", says="batch_tokens"),
    row(NEW + "effective_batch_tokens=8", says="effective_batch_tokens"),
    row(NEW + "decay_steps=-1", says="decay_steps"),
    row(NEW + "warmup_steps=9,decay_steps=9", says="more than `warmup_steps`"),
    row(
        NEW + "warmup_steps=2,decay_steps=9 --train_steps=10",
        says="--hparams=decay_steps=10",
    ),
    row(NEW + "train_minutes=-1", says="train_minutes"),
    row(NEW + "train_minutes=1 --train_steps=9", says="one of them"),
    row(NEW + "packed=maybe", says="packed"),
    row(NEW + "packed=2", says="packed"),
    row(NEW + "optimizer=sgd", says="optimizer"),
    row(NEW + "optimizer=adam,weight_decay=0.1", says="weight_decay"),
    row(NEW + "adam_beta1=1", says="adam_beta1"),
    row(NEW + "adam_beta2=1.1", says="adam_beta2"),
    row(NEW + "adam_epsilon=0", says="adam_epsilon"),
    row(NEW + "weight_decay=-1", says="weight_decay"),
    row(NEW + "gradient_clip_norm=-1", says="gradient_clip_norm"),
    row(NEW + "ema_decay=1", says="ema_decay"),
    row(NEW + "learning_rate=0", says="learning_rate"),
    row(NEW + "learning_rate=nan", says="learning_rate"),
    row(NEW + "learning_rate=-inf", says="learning_rate"),
    row(NEW + "learning_rate=1e999", says="learning_rate"),
    row(NEW + "warmup_steps=0", says="warmup_steps"),
    row(NEW + "train_steps=0", says="train_steps"),
    row(NEW + "beam_size=0", says="beam_size"),
    row(NEW + "alpha=-1", says="alpha"),
    row(NEW + "extra_length=-1", says="extra_length"),
    row(NEW + "extra_length=1000000000", says="extra_length"),
    row(NEW + "d_model=\udcff", says="UTF-8"),
    row(
        "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
        "--hparams_set=transformer_huge",
        says="transformer_huge",
    ),
    row(
        "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
        "--hparams_set=transformer_tiny --batch_tokens=lots",
        says="batch_tokens",
    ),
    # A run keeps its hyper-parameters.
    row(RESUMED + "--hparams_set=transformer_base"),
    row(RESUMED + "--hparams=d_model=32"),
    row(RESUMED + "--random_seed=7", says="random_seed"),
    row(RESUMED + "--problem=reverse"),
    row(RESUMED + "--precision=bfloat16", says="precision"),
    row(RESUMED + "--batch_tokens=4096", says="batch_tokens"),
    # Options of decoding.
    row(DECODE + "beam_size", says="name=value"),
    row(DECODE + "beam_size=0", says="beam_size"),
    row(DECODE + "beam_size=1000000000", says="beam_size"),
    row(DECODE + "num_hypotheses=0", says="num_hypotheses"),
    row(DECODE + "num_hypotheses=8,beam_size=4", says="num_hypotheses"),
    row(DECODE + "alpha=nan", says="alpha"),
    row(DECODE + "extra_length=-1", says="extra_length"),
    row(DECODE + "extra_length=100000000000", says="extra_length"),
    row(DECODE + "min_length=-1", says="min_length"),
    row(DECODE + "temperature=-1", says="temperature"),
    row(DECODE + "temperature=inf", says="temperature"),
    row(DECODE + "temperature=hot", says="temperature"),
    row(DECODE + "top_k=-1", says="top_k"),
    row(DECODE + "top_k=1.5", says="top_k"),
    row(DECODE + "top_p=0", says="top_p"),
    row(DECODE + "top_p=1.01", says="top_p"),
    row(DECODE + "top_p=nan", says="top_p"),
    row(DECODE + "mbr_samples=1", says="from 2 to"),
    row(DECODE + "mbr_samples=100000", says="mbr_samples"),
    row(DECODE + "mbr_samples=2,num_hypotheses=3", says="mbr_samples=2"),
    row(
        "kt-decoder --output_dir={parser} "
        "--decode_hparams=mbr_samples=8,num_hypotheses=2",
        says="num_hypotheses=2",
    ),
    row(
        "kt-evaluate --output_dir={run} --calibrate "
        "--decode_hparams=mbr_samples=8",
        has("{data}"),
        says="not mbr_samples",
    ),
    row(
        "kt-evaluate --output_dir={parser} "
        "--decode_hparams=mbr_samples=8,num_hypotheses=2",
        has("{tree_data}"),
        says="num_hypotheses=2",
    ),
    row(
        "kt-decoder --output_dir={saved_model} --decode_hparams=mbr_samples=8",
        says="does not support `mbr_samples`",
    ),
    row(
        "kt-exporter --output_dir={run} --decode_hparams=mbr_samples=8",
        says="needs a run",
    ),
    row(
        "kt-exporter --output_dir={run} --format=ctranslate2 "
        "--decode_hparams=mbr_samples=8",
        says="needs a run",
    ),
    row(
        "kt-decoder --output_dir={ctranslate2} --decode_hparams=mbr_samples=8",
        says="does not support `mbr_samples`",
    ),
    row(DECODE + "constrained=maybe", says="constrained"),
    row(DECODE + "temprature=1", says="temperature"),
    row(DECODE + "temperature=1,temperature=2", says="once"),
    row(DECODE + "dropout=0.1", says="dropout"),
    row("kt-exporter --output_dir={run} --decode_hparams=top_p=2"),
    row("kt-exporter --output_dir={run} --decode_hparams=beam=2"),
    row("kt-exporter --output_dir={run} --beam_size=1000000000"),
    row("kt-evaluate --output_dir={run} --decode_hparams=n=2", has("{data}")),
    row(
        "kt-datagen --problem=translate_files --data_dir={box}/d "
        "--vocab_size=3 --train_source={texts}/train.en "
        "--train_target={texts}/train.de --dev_source={texts}/dev.en "
        "--dev_target={texts}/dev.de",
        says="vocab_size",
    ),
    row(
        "kt-datagen --problem=translate_files --data_dir={box}/d "
        "--vocab_size=2147483648 --train_source={texts}/train.en "
        "--train_target={texts}/train.de --dev_source={texts}/dev.en "
        "--dev_target={texts}/dev.de",
        says="vocab_size",
    ),
]
