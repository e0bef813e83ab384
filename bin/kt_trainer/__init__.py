"""The parts of kt-trainer."""
