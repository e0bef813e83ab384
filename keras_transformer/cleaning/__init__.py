"""Rules that drop bad pairs from parallel text, and a report on them."""
