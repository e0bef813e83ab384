"""Sweeps of unknown rows, or with settings that do not go together."""

from rows import row

SWEEP = "kt-sweep --problem=copy --data_dir={data} --output_dir={box}/s "
POINTS = SWEEP + "--hparams_set=transformer_tiny "
ROWS = [
    row("kt-sweep --table=3", says="`--output_dir`"),
    row(SWEEP, says="none of them"),
    row(SWEEP + "--table=3 --grid=dropout=0.1", says="--grid=dropout=0.1"),
    row(SWEEP + "--table=3 --ranges=dropout=0.1", says="--random"),
    row(SWEEP + "--table=3 --semi_data_dir={data}", says="--table=4"),
    row(SWEEP + "--table=4", says=("parsing problem", "--problem=copy")),
    row(SWEEP + "--table=3 --rows=base,a_h2", says=("a_h2", "a_h16")),
    row(SWEEP + "--table=3 --splits=train", says="dev"),
    row(SWEEP + "--table=3 --hparams=dropout=0.1", says="d_dropout0"),
    row(SWEEP + "--table=3 --data_dir={box}/gone", says="kt-datagen"),
    row(SWEEP + "--table=3 --output_dir=/proc/s", says="/proc"),
    row(SWEEP + "--table=3 --output_dir={run}", says="a run itself"),
    row(
        SWEEP + "--table=3 --random_seed=4294967295 --seeds=2",
        says=("--random_seed=4294967295", "--seeds=2", "4,294,967,295"),
    ),
    row(SWEEP + "--hparams_sets=transformer_huge", says="transformer_huge"),
    row(SWEEP + "--hparams_sets=transformer_tiny,", says="hparams_set"),
    row(SWEEP + "--grid=dropout=0.1", says="`--hparams_set`"),
    row(POINTS + "--random=2", says="`--ranges`"),
    row(POINTS + "--grid=dropout", says="name=values"),
    row(POINTS + "--grid=dropout=0.1,0.1", says="Name each row once"),
    row(POINTS + "--grid=dropuot=0.1", says="dropout"),
    row(POINTS + "--grid=num_heads=3", says="num_heads"),
    row(POINTS + "--random=9 --ranges=num_layers=1..3", says="3 were found"),
    row(POINTS + "--random=2 --ranges=dropout=0.3..0.0", says="lower"),
    row(POINTS + "--random=2 --ranges='dropout=0..0.3 log'", says="above 0"),
    row(POINTS + "--random=2 --ranges=norm=pre..post", says="ranges"),
]
