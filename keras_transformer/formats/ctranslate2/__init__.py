"""Models of CTranslate2: written, converted from checkpoints, and run."""
