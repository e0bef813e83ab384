"""The rows, processes, tables and pictures of kt-sweep."""
