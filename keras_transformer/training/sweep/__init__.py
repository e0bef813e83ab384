"""The rows and the table of kt-sweep."""
