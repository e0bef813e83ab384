"""The parts of kt-decoder."""
