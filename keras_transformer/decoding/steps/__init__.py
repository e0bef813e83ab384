"""Steps: what changes texts before a search, and hypotheses after it.

A translator prepares each window of texts with its steps in order, and lets
them finish the hypotheses in reverse order.
"""


class Step:
    """A step that changes nothing. Subclasses override what they need."""

    def prepare(self, texts):
        """Prepares the texts of a window for the search.

        Args:
            texts: List of str.

        Returns:
            List of as many str, and anything that `finish` needs.
        """
        return texts, None

    def prepare_targets(self, texts):
        """Prepares translations that a user gives, a list of str."""
        return texts

    def finish(self, hypotheses, memory):
        """Finishes the hypotheses of a window.

        Args:
            hypotheses: List of lists of `Hypothesis`, one for each text.
            memory: What `prepare` returned for the window.

        Returns:
            List of lists of `Hypothesis`.
        """
        return hypotheses

    def finish_links(self, links):
        """Returns `WordLinks` of a prepared text as those of the text."""
        return links
