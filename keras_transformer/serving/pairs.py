"""The pairs of languages that a server translates, and their models."""

import re
import typing

from keras_transformer.serving.errors import InvalidRequest

# Chinese of these places is written in other characters than that of zh.
_TRADITIONAL = re.compile("zh-(hant|tw|hk|mo)")


class Route(typing.NamedTuple):
    """The model of a pair of languages."""

    model_name: str
    tag_word: str = ""  # goes before each text, if a model has many languages


class Pairs:
    """Finds models that translate from one language to another.

    `routes` are those of each pair, (source, target). A pair without a model
    goes over a third language, the pivot, if there are models for both halves.
    """

    def __init__(self, routes):
        self._routes = routes
        self.languages = list(
            dict.fromkeys(code for pair in routes for code in pair)
        )
        self.sources = list(dict.fromkeys(source for source, _ in routes))
        self.targets = {
            source: [
                target
                for target in self.languages
                if target != source and self.find(source, target)
            ]
            for source in self.languages
        }

    def find(self, source, target):
        """Returns the languages from source to target, or None."""
        if (source, target) in self._routes:
            return source, target
        for pivot in self.languages:
            halves = (source, pivot), (pivot, target)
            if source != target and all(
                half in self._routes for half in halves
            ):
                return source, pivot, target
        return None

    def list_sources(self, target):
        """Returns the languages from which there is a way to a target."""
        return [one for one in self.targets if target in self.targets[one]]

    def list_routes(self, languages):
        """Returns the `Route` between each two languages."""
        return [self._routes[pair] for pair in zip(languages, languages[1:])]

    def match(self, side, code, codes):
        """Returns which of the codes a client means by its code.

        A region that is not among the codes does not matter, so that es_MX is
        es.
        """
        if isinstance(code, str):
            spelled = code.replace("_", "-").lower()
            known = {one.replace("_", "-").lower(): one for one in codes}
            base = spelled.partition("-")[0]
            if _TRADITIONAL.match(spelled):
                base = None
            if found := known.get(spelled) or known.get(base):
                return found
        names = f"{', '.join(codes[:-1])} or {codes[-1]}"
        raise InvalidRequest(
            f"`{side}` must be {names if codes[:-1] else codes[0]}. Received: "
            f"{side}={code!r:.40}. GET /languages lists the pairs of this "
            "server."
        )
