"""Sets variables that TensorFlow and matplotlib read when they are imported."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("MPLBACKEND", "Agg")
