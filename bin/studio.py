"""Opens a page in the browser to try out and inspect a run.

    kt-studio --output_dir=run

The command prints the address of the page and keeps running. The page
translates as you type, and shows how sure the model is of each word and what
else it could have written. Its other views show the attention of all heads, the
steps of beam search, the trees of a parser, the learning curves of a run that
may still be training, and what one head computes in numbers.

With two runs, the page compares them:

    kt-studio --output_dir=run --output_dir=other_run

The server has no access control, so by default it serves only this machine.
On Control-C or SIGTERM it stops.
"""

import os
import sys
import threading

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.errors import UserError

FLAGS = flags.define(
    """
  output_dir (directory): Directory of a run. Repeat the flag to compare runs.
  checkpoint_step
  memory (path): File of corrections, which the page uses and adds to. Default:
    none.
  host
  port (port, default 8600): Port of the page; 0 takes any free one.
""",
    directory=flags.several(os.path.expanduser, "the directory of a run"),
)
SECONDS_TO_FINISH = 5
# After a signal. A usual end would wait for the thread that loads the model.
ENDS_AT_ONCE = True


def main(argv):
    flags.require(FLAGS, "output_dir")
    flags.require_given(FLAGS, "memory")
    if read_backend() != "tensorflow":
        raise UserError(
            "`KERAS_BACKEND` must be tensorflow for kt-studio, which shows a "
            "search step by step. Received: KERAS_BACKEND="
            f"{os.environ['KERAS_BACKEND']}. Leave the variable out."
        )
    from keras_transformer.data.memory.store import TranslationMemory
    from keras_transformer.formats.demo import find_directory
    from keras_transformer.serving.errors import format_address
    from keras_transformer.serving.http_server import HttpServer
    from keras_transformer.studio.app import LOOPBACK
    from keras_transformer.studio.app import StudioApp
    from keras_transformer.studio.models import Studio

    paths = list(map(find_directory, FLAGS.output_dir))
    memory = FLAGS.memory and TranslationMemory(FLAGS.memory)
    studio = Studio(paths, FLAGS.checkpoint_step, memory)
    app = StudioApp(studio, is_local=FLAGS.host in LOOPBACK)
    server = HttpServer(app, FLAGS.host, FLAGS.port, name="kt-studio")
    server.start()
    address = format_address(FLAGS.host, server.port)
    print(f"Open http://{address}/", file=sys.stderr, flush=True)
    try:
        # The page is up while the model loads.
        app.open_model(load_backend)
        threading.Event().wait()
    finally:
        server.stop(SECONDS_TO_FINISH)


run = command.make_script(main, FLAGS)
