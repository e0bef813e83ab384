"""The files of exported models, and how a checkpoint becomes one of them."""
