"""The parts of kt-benchmark."""
