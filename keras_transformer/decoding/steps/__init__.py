"""Steps, which change texts before a search, and hypotheses after it.

A translator prepares each window of texts with its steps in order, and lets
them finish the hypotheses in reverse order. `glossary` defines no step: a
translator searches again for missing terms.
"""

from keras_transformer.errors import UserError


class Step:
    """A step that changes nothing. Subclasses override what they need."""

    def prepare(self, texts):
        """Returns the texts for the search, and what `finish` needs."""
        return texts, None

    def prepare_targets(self, texts):
        """Returns given translations as the model would write them."""
        return texts

    def check_target(self, text, name, line):
        """Raises a `UserError` about a faulty translation, a line of a file."""

    def finish(self, hypotheses, memory):
        """Returns the finished lists of `Hypothesis`, one for each text.

        The memory is what `prepare` returned for the window.
        """
        return hypotheses

    def finish_links(self, links):
        """Turns `WordLinks` of a prepared text into links of the text."""
        return links


def check_translates(name, linearization):
    """Raises a `UserError` about an argument if the model parses."""
    if linearization:
        raise UserError(
            f"`{name}` needs a model that translates. Received: a model "
            "that parses. Leave it out."
        )
