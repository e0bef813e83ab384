"""The rows, tables and pictures of kt-sweep."""
