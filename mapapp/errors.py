"""Mistakes that a user of the commands or the pages can mend, each said in one line."""


class UsageError(ValueError):
    """An option, argument or setting is not what it must be."""
