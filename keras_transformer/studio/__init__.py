"""The page of kt-studio, in which a model can be tried out and inspected."""
