"""What every engine defines, and the engine that runs on Keras."""
