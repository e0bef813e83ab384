"""The ids and pieces that every vocabulary of this package has in common."""

PAD_ID = 0  # fills sequences up to the length of their batch
END_ID = 1  # ends every sequence
UNKNOWN_ID = 2  # never produced, since vocabularies fall back to bytes
FIRST_SYMBOL_ID = 3  # the first of the symbols that a problem defines
FIRST_BYTE = "<0x00>"  # piece of byte 0; those of the other bytes follow
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # opens the first piece of a word
