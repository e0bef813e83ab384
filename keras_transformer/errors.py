"""The error that a user can mend."""


class UserError(ValueError):
    """Bad input, or an event outside the program, that the user can mend.

    A command prints its message in one line and exits with status 2. Every
    other exception is a bug and keeps its traceback. A message about a value
    has three parts: the rule, what was received, and the way out. A message
    about an event says what happened, to what, and what to do.
    """
