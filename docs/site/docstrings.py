"""Lets griffe read the sections that our docstrings have beside Google's."""

import griffe

SECTIONS = {
    "Call arguments:": "Other Parameters: Call arguments",
    "Class attributes:": "Attributes: Class attributes",
    "Example:": "Examples: Example",
}


class OurSections(griffe.Extension):
    """Renames the sections of each docstring to those that griffe knows."""

    def on_object(self, *, obj, **kwargs):
        if obj.docstring and not obj.is_alias:
            lines = obj.docstring.value.split("\n")
            obj.docstring.value = "\n".join(
                SECTIONS.get(line, line) for line in lines
            )
