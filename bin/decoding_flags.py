"""The flags of decoding, exporting, serving and measuring."""

from keras_transformer.bin import flag_kinds as kinds

DECODING_FLAGS = {
    "decode_from_file": (
        kinds.path,
        None,
        "File to translate, one sentence a line. Default: standard input.",
    ),
    "decode_to_file": (
        kinds.path,
        None,
        "File for the translations, one line for each line of the input. "
        "Default: standard output.",
    ),
    "decode_interactive": (
        kinds.switch,
        False,
        "Translate each line as you type it.",
    ),
    "beam_size": (
        kinds.count,
        None,
        "Hypotheses kept in the beam search. Default: that of the run.",
    ),
    "alpha": (
        kinds.amount,
        None,
        "Exponent of the length penalty. Default: that of the run.",
    ),
    "decode_hparams": (
        kinds.text,
        "",
        "Changes to how the run decodes, such as num_hypotheses=4,min_length=2 "
        "or temperature=0.8,top_k=10.",
    ),
    "write_scores": (
        kinds.switch,
        False,
        "Write the score of each translation after it and a tab.",
    ),
    "score_file": (
        kinds.path,
        None,
        "File to score instead of translating: a source, a tab and its "
        "translation on each line. Default: none.",
    ),
    "prefix_file": (
        kinds.path,
        None,
        "File of what the translations begin with, one a line, for each line "
        "of the input; lines may be empty. Default: none.",
    ),
    "export_dir": (
        kinds.path,
        None,
        "Directory of exported models, one folder for each version: 1, 2, and "
        "so on. Default: export, inside output_dir.",
    ),
    "format": (
        kinds.format,
        "saved_model",
        "Form of the exported model: saved_model for TensorFlow Serving and "
        "TensorFlow, saved_model_ids the same for ids alone, without the "
        "operations of tensorflow-text, or ctranslate2.",
    ),
    "quantization": (
        kinds.quantization,
        "float32",
        "Numbers that a CTranslate2 model is stored in.",
    ),
    "model_name": (
        kinds.text,
        "translate",
        "Name of the model on the server.",
    ),
    "server": (
        kinds.text,
        "localhost",
        "Host of the server, with its port where that is not the protocol's "
        "usual one (8500 for gRPC, 8501 for REST).",
    ),
    "protocol": (
        kinds.protocol,
        "grpc",
        "How to speak to the server: grpc or rest.",
    ),
    "model_version": (
        kinds.count,
        None,
        "Version of the model to ask. Default: the newest.",
    ),
    "timeout_secs": (
        kinds.amount,
        10.0,
        "Most seconds to wait for an answer.",
    ),
    "host": (
        kinds.text,
        "localhost",
        "Address to listen on; 0.0.0.0 for all of this machine's.",
    ),
    "port": (
        kinds.port,
        8500,
        "Port of gRPC; 0 turns it off.",
    ),
    "rest_api_port": (
        kinds.port,
        8501,
        "Port of REST; 0 turns it off.",
    ),
    "max_batch_size": (
        kinds.count,
        32,
        "Most sentences of concurrent requests that are translated together.",
    ),
    "batch_timeout_micros": (
        kinds.whole,
        2000,
        "Microseconds that a batch waits for one more sentence, and ten times "
        "that in all.",
    ),
    "text": (
        kinds.text,
        None,
        "Sentence to translate.",
    ),
    "target_text": (
        kinds.text,
        None,
        "Translation to show the attention of. Default: the model's own.",
    ),
    "html": (
        kinds.path,
        None,
        "Page to write, one self-contained file. Default: none.",
    ),
    "png": (
        kinds.path,
        None,
        "Picture to write. Default: none.",
    ),
    "split": (
        kinds.split,
        "test",
        "Part of the problem's data: train, dev or test.",
    ),
    "hypotheses": (
        kinds.path,
        None,
        "File of translations to score, one a line; goes with references. "
        "Default: none, which decodes the split.",
    ),
    "references": (
        kinds.path,
        None,
        "File of reference translations, one a line; goes with hypotheses. "
        "Default: none, which decodes the split.",
    ),
    "measure": (
        kinds.measure,
        "bleu",
        "What to score files with: bleu, or f1 for files of trees. A run's "
        "problem knows its own.",
    ),
    "evalb_files": (
        kinds.switch,
        False,
        "Write the gold trees and the parsed ones for EVALB as well.",
    ),
    "tokenized": (
        kinds.switch,
        False,
        "Whether the sentences to parse are words with spaces between them, as "
        "the treebank has them, and not raw text.",
    ),
    "tokenize": (
        kinds.tokenizer,
        "13a",
        "sacreBLEU's tokenizer: 13a, none, intl, char or zh.",
    ),
    "lowercase": (
        kinds.switch,
        False,
        "Score without regard to case.",
    ),
    "runs": (
        kinds.paths,
        None,
        "Directories of the runs to draw, with commas between them.",
    ),
    "metric": (
        kinds.text,
        "dev_bleu",
        "Column of metrics.csv to draw.",
    ),
    "x_axis": (
        kinds.x_axis,
        "step",
        "What to draw it against: step, seconds of training, or epoch.",
    ),
    "plot_to_file": (
        kinds.path,
        None,
        "Picture to write, a .png, .pdf or .svg file.",
    ),
    "mode": (kinds.mode, None, "What to time: train, input or decode."),
    "vocabulary": (
        kinds.path,
        None,
        "SentencePiece model to encode the text with. Default: one is trained "
        "on it, of 8,000 subwords if vocab_size does not say otherwise.",
    ),
    "batch_size": (
        kinds.count,
        32,
        "Sentences that are decoded together.",
    ),
    "target_length": (
        kinds.whole,
        0,
        "Tokens of every translation, its end included; 0 leaves that to the "
        "model.",
    ),
    "sort_by_length": (
        kinds.switch,
        True,
        "Decode sentences of similar lengths together.",
    ),
    "packed": (
        kinds.switch,
        False,
        "Put several sentence pairs into a row, as --hparams=packed=true.",
    ),
    "num_passes": (
        kinds.count,
        5,
        "Times that the work is done for the figures.",
    ),
}
