"""Trains benepar from scratch on a treebank and scores it.

    pip install benepar
    python benchmarks/benepar_baseline.py \\
        wsj_sample:0001-0159 wsj_sample:0160-0179

benepar is the Berkeley Neural Parser (Kitaev and Klein, 2018). Its package has
the model, the loss and the search, but no training, which this script adds. It
trains the model of characters, without a pretrained encoder, by Adam. The
learning rate rises and then falls to zero within 35 minutes of processor time,
or those of a third argument. The model also learns the tags. Its score is in
docs/parsing_results.md.

The trees, their words and the score are those of kt-evaluate.
"""

import random
import sys
import time

from keras_transformer.parsing.parseval import parseval
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import read_treebank

try:
    import nltk
    import torch
    from benepar.char_lstm import RetokenizerForCharLSTM
    from benepar.decode_chart import ChartDecoder
    from benepar.nkutil import HParams
    from benepar.parse_chart import ChartParser
except ImportError:
    sys.exit("The parser must be installed. Run: pip install benepar")

MAX_WORDS = 100  # of a training sentence; the work grows with the square
BATCH_SIZE = 32  # sentences
MAX_SPANS = 30_000  # of a batch, each sentence counted with its words squared
LEARNING_RATE = 0.0008
WARMUP_UPDATES = 160
HPARAMS = dict(
    use_pretrained=False,
    use_chars_lstm=True,
    use_encoder=True,
    d_model=512,
    num_layers=4,
    num_heads=8,
    d_kv=64,
    d_ff=1024,
    encoder_max_len=512,
    d_char_emb=64,
    d_label_hidden=256,
    d_tag_hidden=256,
    tag_loss_scale=5.0,
    predict_tags=True,
    char_lstm_input_dropout=0.2,
    morpho_emb_dropout=0.2,
    relu_dropout=0.1,
    residual_dropout=0.2,
    attention_dropout=0.2,
)


class Sentence:
    """A sentence as benepar reads it, with a tree for training alone."""

    def __init__(self, tree, is_training):
        self.words = tree.words()
        self.tree = nltk.Tree.fromstring(str(tree)) if is_training else None

    def pos(self):
        return self.tree.pos() if self.tree else [(w, None) for w in self.words]


def new_parser(sentences):
    trees = [sentence.tree for sentence in sentences]
    tags = sorted({tag for sentence in sentences for _, tag in sentence.pos()})
    return ChartParser(
        tag_vocab={tag: id_ for id_, tag in enumerate(tags)},
        label_vocab=ChartDecoder.build_vocab(trees),
        char_vocab=RetokenizerForCharLSTM.build_vocab(
            [sentence.words for sentence in sentences]
        ),
        hparams=HParams(
            **HPARAMS,
            force_root_constituent=ChartDecoder.infer_force_root_constituent(
                trees
            ),
        ),
    )


def epoch_batches(lengths, chooser):
    """Returns batches of positions, whose sentences have similar lengths."""
    order = sorted(
        range(len(lengths)), key=lambda i: lengths[i] + 4 * chooser.random()
    )
    batches = [[]]
    for i in order:
        num_spans = (len(batches[-1]) + 1) * lengths[i] ** 2
        if len(batches[-1]) == BATCH_SIZE or num_spans > MAX_SPANS:
            batches.append([])
        batches[-1].append(i)
    chooser.shuffle(batches)
    return batches


def loss_of(parser, inputs):
    """Returns benepar's loss, with the model alone in bfloat16."""
    with torch.autocast("cpu", torch.bfloat16):
        span_scores, tag_scores = parser(inputs)
    span_loss = parser.criterion(span_scores.float(), inputs["span_labels"])
    tag_loss = torch.nn.functional.cross_entropy(
        tag_scores.float().flatten(0, 1), inputs["tag_labels"].flatten()
    )
    num_sentences = len(inputs["span_labels"])
    return span_loss / num_sentences + parser.tag_loss_scale * tag_loss


def train(parser, sentences, minutes):
    """Trains for some minutes of processor time, so that others count less."""
    encoded = [parser.encode(sentence) for sentence in sentences]
    lengths = [len(sentence.words) for sentence in sentences]
    optimizer = torch.optim.Adam(parser.parameters(), betas=(0.9, 0.98))
    chooser, start = random.Random(0), time.process_time()
    num_updates, epoch, spent = 0, 0, 0
    parser.train()
    while spent < 1:
        for batch in epoch_batches(lengths, chooser):
            spent = (time.process_time() - start) / 60 / minutes
            if spent >= 1:
                break
            rate = min(num_updates / WARMUP_UPDATES, 1 - spent)
            optimizer.param_groups[0]["lr"] = LEARNING_RATE * rate
            inputs = parser.pad_encoded([encoded[i] for i in batch])
            loss = loss_of(parser, inputs)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
            optimizer.step()
            num_updates += 1
        epoch += 1
        print(
            f"{epoch} epochs, {num_updates:,} updates, "
            f"{minutes * spent:.1f} minutes, loss {loss.item():.2f}",
            flush=True,
        )


def main(train_trees, dev_trees, minutes=35):
    torch.manual_seed(0)
    torch.set_num_threads(1)  # processor time counts every thread
    trees = read_treebank([train_trees])
    sentences = [Sentence(tree, is_training=True) for tree in trees]
    sentences = [s for s in sentences if len(s.words) <= MAX_WORDS]
    parser = new_parser(sentences)
    num_weights = sum(p.numel() for p in parser.parameters())
    print(f"{len(sentences):,} sentences, {num_weights:,} weights", flush=True)
    train(parser, sentences, float(minutes))
    gold = list(read_treebank([dev_trees]))
    words = [Sentence(tree, is_training=False) for tree in gold]
    parses = parser.parse(words, subbatch_max_tokens=1000)
    parses = [parse_tree(" ".join(str(tree).split())) for tree in parses]
    print(parseval(gold, parses).text)


if __name__ == "__main__":
    main(*sys.argv[1:])
