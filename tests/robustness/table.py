"""All rows, by section."""

import archive_rows
import checkpoint_rows
import concurrent_rows
import corpus_rows
import data_rows
import disk_rows
import document_rows
import environment_rows
import flag_rows
import glossary_rows
import hparam_rows
import import_rows
import permission_rows
import protect_rows
import record_rows
import request_rows
import run_rows
import signal_rows
import stream_rows
import sweep_rows
import text_rows
import tree_rows
import vocabulary_rows

COMMANDS = {
    "flag": flag_rows.ROWS + sweep_rows.ROWS,
    "hparam": hparam_rows.ROWS,
    "text file": text_rows.ROWS + document_rows.ROWS,
    "corpus": corpus_rows.ROWS,
    "glossary": glossary_rows.ROWS + protect_rows.ROWS,
    "archive": archive_rows.ROWS,
    "run directory": run_rows.ROWS + record_rows.ROWS + data_rows.ROWS,
    "vocabulary": vocabulary_rows.ROWS,
    "checkpoint": checkpoint_rows.ROWS,
    "model to import": import_rows.ROWS,
    "tree": tree_rows.ROWS,
    "environment": environment_rows.ROWS,
    "streams": stream_rows.ROWS,
    "disk": disk_rows.ROWS,
    "permission": permission_rows.ROWS,
    "concurrent": concurrent_rows.ROWS,
    "signal": signal_rows.ROWS,
}
SECTIONS = {
    **COMMANDS,
    "JSON body": request_rows.BODIES,
    "gRPC message": request_rows.MESSAGES,
}
