"""Settings that must stand before a test imports TensorFlow or matplotlib."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
os.environ.setdefault("MPLBACKEND", "Agg")
