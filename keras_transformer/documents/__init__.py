"""Documents as sentences to translate and markup to keep."""
