"""Names of measures."""

# Of translations, as sacreBLEU computes them; TER takes long.
TRANSLATION_MEASURES = ("bleu", "chrf", "ter")
# Of short texts that are right or wrong, such as pronunciations; see
# `symbol_scores`.
SYMBOL_MEASURES = {
    "exact_match": "exact match",
    "symbol_error_rate": "symbol errors",
    "character_error_rate": "character errors",
}
MEASURES = (*TRANSLATION_MEASURES, *SYMBOL_MEASURES, "f1")
LOWER_IS_BETTER = ("loss", "ter", "symbol_error_rate", "character_error_rate")
