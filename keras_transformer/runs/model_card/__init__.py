"""The model card, README.md of a run: what the model is and how to use it."""

from keras_transformer.runs.model_card.card import check_model_card
from keras_transformer.runs.model_card.card import write_model_card
from keras_transformer.runs.model_card.cost import cost_rows
from keras_transformer.runs.model_card.facts import changed_data
from keras_transformer.runs.model_card.facts import describe_data
from keras_transformer.runs.model_card.scores import record_scores

__all__ = [
    "changed_data",
    "check_model_card",
    "cost_rows",
    "describe_data",
    "record_scores",
    "write_model_card",
]
