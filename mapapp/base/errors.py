"""Errors that a user of the commands or the pages can fix; every message is one line."""


class UsageError(ValueError):
    """An option, argument or setting has a value that is not allowed."""


class LedgerError(ValueError):
    """The ledger is unreadable, or a release would pass the dataset's budget."""
