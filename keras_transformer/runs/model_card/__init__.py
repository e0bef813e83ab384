"""The model card, README.md of a run: what the model is and how to use it."""

from keras_transformer.runs.model_card.card import check_model_card
from keras_transformer.runs.model_card.card import describe_cost
from keras_transformer.runs.model_card.card import write_model_card
from keras_transformer.runs.model_card.facts import describe_data
from keras_transformer.runs.model_card.facts import find_changed_data
from keras_transformer.runs.model_card.scores import record_scores

__all__ = [
    "check_model_card",
    "describe_cost",
    "describe_data",
    "find_changed_data",
    "record_scores",
    "write_model_card",
]
