"""The parts of kt-evaluate."""
