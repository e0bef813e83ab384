"""Token ids and pieces that all vocabularies of this package share."""

PAD_ID = 0  # pads sequences to the length of their batch
END_ID = 1  # ends every sequence
END_LABEL = "(end)"  # stands for it where tokens are shown
UNKNOWN_ID = 2  # never written; only a vocabulary of given symbols reads it
NEVER_WRITTEN = (PAD_ID, UNKNOWN_ID)  # ids that stand for no text
FIRST_SYMBOL_ID = 3  # first of the symbols that a problem defines
FIRST_BYTE = "<0x00>"  # piece of byte 0; the other bytes follow it
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # begins the first piece of a word
