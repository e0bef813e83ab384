"""The rules of kt-clean."""
