"""The parts of kt-sweep."""
