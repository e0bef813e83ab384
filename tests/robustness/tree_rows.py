"""Trees that do not balance, hold nothing, nest too deeply, or are no text."""

from damage import links
from damage import makes
from damage import removes
from damage import writes
from rows import row

IN = "{box}/in.trees"
F1 = f"kt-evaluate --measure=f1 --hypotheses={IN} "
F1 += "--references={texts}/dev.trees"
GOLD = f"kt-evaluate --measure=f1 --hypotheses={IN} --references={{box}}/gold"
GENERATE = (
    "kt-datagen --problem=parsing_files --data_dir={box}/d --vocab_size=360 "
    "--train_trees={texts}/train.trees --dev_trees={texts}/dev.trees"
)
OWN = (
    "kt-datagen --problem=parsing_files --data_dir={box}/d --vocab_size=360 "
    f"--train_trees={IN} --dev_trees={{texts}}/dev.trees"
)
GIVEN = GENERATE.replace("--vocab_size=360 ", "") + " --vocabulary="
PARSED = GENERATE + f" --parsed_trees={IN}"
SPLIT = "kt-evaluate --output_dir={parser} --data_dir={tree_data} --split=dev"
PARSE = "kt-decoder --output_dir={parser} --tokenized"
ATTENTION = (
    "kt-attention --output_dir={parser} --html=a.html --text='a b' "
    "--target_text="
)
GOOD = b"(S (NP (DT a) (NN dog)) (VP (VBZ runs)) (. .))\n"
FAULTS = [
    b"",
    b"\n",
    b"(",
    b")",
    b"()",
    b"(S",
    b"(S)",
    b"(S (NP (NN dog))",
    b"(S (NP (NN dog))))",
    b"(S (NP))",
    b"dog",
    b"(S (NN dog)) (S (NN cat))",
    b"(S (NN do(g))",
    b"(S (-NONE- *T*-1))",
    b"(S (NN \xff))",
    b"\xff\xfe(\0S\0",
    b"\x1f\x8b\x08\0junk",
    b"[S [NP [NN dog]]]",
    b'{"S": ["dog"]}',
    b"(" * 100_000,
]
ROWS = [
    *(row(F1, writes(IN, fault), says="in.trees") for fault in FAULTS),
    *(row(OWN, writes(IN, fault), says="in.trees") for fault in FAULTS),
    row(OWN, writes(IN, GOOD + b"(S (NN dog)\n"), says="line 2"),
    row(OWN + " --skip_bad", writes(IN, b"(S\n(T\n"), says="in.trees"),
    row(F1, says="in.trees"),
    row(F1, makes(IN), says="in.trees"),
    row(F1, links(IN, IN), says="in.trees"),
    row(F1, writes(IN, GOOD), says=("1", "20")),
    row(F1 + " --tokenize=none", writes(IN, GOOD), says="--tokenize"),
    row(GOLD, writes(IN, GOOD), writes("{box}/gold", b"(S"), says="gold"),
    row(GENERATE + " --train_trees=", says="train_trees"),
    row(GENERATE + " --dev_trees=", says="dev_trees"),
    row(GENERATE + " --train_trees={box}/gone", says="gone"),
    row(GENERATE + " --train_trees={texts}:02-21", says="02-21"),
    row(GENERATE + " --train_trees={texts}:21-02", says="21-02"),
    row(GENERATE + " --train_trees={box}/wsj:02-21", says="wsj"),
    row(GENERATE + " --train_trees={data}", says="source.txt"),
    row(GENERATE + " --train_trees={texts}/train.trees,", says="by commas"),
    row(GENERATE + " --train_trees=,", says="by commas"),
    row(GENERATE + " --dev_trees=/dev/null", says="/dev/null"),
    row(GENERATE + " --parsed_trees={box}/gone", says="gone"),
    row(GENERATE + " --parsed_trees=/dev/null", says="/dev/null"),
    row(GENERATE + " --treebank_weight=5", says="--parsed_trees"),
    row(GENERATE + " --vocabulary={parser}", says="--vocab_size"),
    row(
        GIVEN + "{run} --linearization=lexicalised", says="symbols of no trees"
    ),
    row(GIVEN + "{parser} --linearization=tagged", says="linearization=tagged"),
    row(GIVEN + "{box}/gone", says="gone"),
    row(PARSED, writes(IN, GOOD + b"(S (NN dog)\n"), says="line 2"),
    row(
        PARSED + " --linearization=tagged",
        writes(IN, b"(S (XX dogs) (XX bark))\n"),
        says="in.trees",
    ),
    row(GENERATE + " --vocab_size=262", says="vocab_size"),
    row(GENERATE + " --vocab_size=9000000", says="vocab_size"),
    row(GENERATE, removes("{texts}/dev.trees"), says="dev.trees"),
    row(ATTENTION, says="target_text", cpu_seconds=60),
    row(ATTENTION + "'(S'", says="tree", cpu_seconds=60),
    row(ATTENTION + "'(S (NN a)) (S (NN b))'", says="tree", cpu_seconds=60),
    row(ATTENTION + "'a b'", says="with its tag", cpu_seconds=60),
    row(
        PARSE + " --prefix_file={texts}/dev.en", stdin=b"a b\n", cpu_seconds=60
    ),
    row(
        f"kt-decoder --output_dir={{parser}} --score_file={IN}",
        writes(IN, b"a b\t(S (NN a)\n"),
        says="tree",
        cpu_seconds=60,
    ),
    row(
        f"kt-decoder --output_dir={{parser}} --score_file={IN}",
        writes(IN, b"a b\tno tree\n"),
        says="tree",
        cpu_seconds=60,
    ),
    row(
        "kt-evaluate --output_dir={parser} --data_dir={tree_data} --split=test"
    ),
    row(
        SPLIT + " --tokenize=none",
        says="--tokenize",
    ),
    row(
        SPLIT,
        writes("{tree_data}/parsing_files/dev.target.txt", b"(S\n" * 20),
        says="dev.target.txt, line 1",
    ),
]
