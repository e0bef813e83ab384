"""Models for ONNX Runtime and transformers.js."""
