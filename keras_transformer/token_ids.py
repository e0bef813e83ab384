"""Token ids and pieces that all vocabularies of this package share."""

PAD_ID = 0  # pads sequences to the length of their batch
END_ID = 1  # ends every sequence
END_LABEL = "(end)"  # stands for it where tokens are shown
UNKNOWN_ID = 2  # never written; only a vocabulary of given symbols reads it
NEVER_WRITTEN = (PAD_ID, UNKNOWN_ID)  # ids that stand for no text
FIRST_SYMBOL_ID = 3  # first of the symbols that a problem defines
FIRST_BYTE = "<0x00>"  # piece of byte 0; the other bytes follow it
WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"  # begins the first piece of a word
# Ranges, for a regular expression, of the scripts without spaces between words:
# those of Thailand, Laos, Tibet, Myanmar, Cambodia and Java, kana and Han.
UNSPACED = "\u0e00-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua980-\ua9ff"
UNSPACED += "\uaa60-\uaadf\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3040-\u312f"
UNSPACED += "\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
UNSPACED += "\U00020000-\U0003ffff"
# What a vocabulary can give ids to; words are whatever spaces separate.
VOCABULARY_TYPES = ("subwords", "characters", "words")
