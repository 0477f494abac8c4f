"""Plain twin of combinations that never occur: every record of a small domain, one rule after the other."""

from collections.abc import Mapping, Sequence

Never = Sequence[Mapping[int, Sequence[int]]]


def is_forbidden(record: Sequence[int], never: Never) -> bool:
    """Whether a record has, in all attributes of some rule, one of its values."""
    return any(all(record[place] in values for place, values in rule.items()) for rule in never)
