"""The parts of kt-datagen."""
