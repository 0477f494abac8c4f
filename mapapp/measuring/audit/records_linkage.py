"""Linking rows of worker records to real workers: how many match exactly one, and whether that is more than chance.

A row matches a worker if both have the same values of all attributes. Matches are bound to happen: records that are
like the real workers are at times equal to one. Two controls say what is chance. A fresh draw of the model alone
matches as often if seeds add nothing. And of workers who are alone with their values, those whom a draw used are
matched as often as those whom it left out, if a match says nothing about being used.

CONFIDENTIAL, all of it.

Source: docs/audit.md, "Linking rows to workers".
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.records.drawing import draw_records
from engine.records.splitting import split_records
from engine.records.tables import Codes, learn_model
from mapapp.measuring.audit.records_attackers import row_numbers
from mapapp.measuring.records_draws import DrawnRecords, draw_key
from mapapp.publishing.records.plan import Plan

__all__ = ["linkage_row", "matched_rows"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_FRESH_KEY: Final = 900
_HALF_KEY: Final = 901
_HALVES: Final = (Fraction(1, 2), Fraction(1, 2))
_FAR: Final = 3.0  # standard errors


def linkage_row(
    name: str, codes: Codes, records: Codes, plan: Plan, drawn: DrawnRecords
) -> dict[str, object]:
    """Measure one set of records: a row of the table `linkage`.

    Parameters
    ----------
    name : str
    codes : int32[n, m]
        The real workers.
    records : int32[r, m]
        The records that are audited.
    plan : Plan
    drawn : DrawnRecords
        A draw of the plan, for its model.
    """
    own, of_records = row_numbers([codes, records])
    alone = _alone(own)
    fresh = draw_records(drawn.model, len(records), key=draw_key(_FRESH_KEY))
    used, left_out, error = _half_used(codes, len(records), plan, drawn)
    return {
        "release": name,
        "workers": len(codes),
        "records": len(records),
        "alone_in_kept": float(_alone(row_numbers([codes[:, : plan.kept]])[0]).mean()) if plan.kept else None,
        "alone_in_all": float(alone.mean()),
        "rows_matching_one": matched_rows(own, of_records),
        "fresh_rows_matching_one": matched_rows(*row_numbers([codes, fresh])),
        "alone_and_matched": _share(np.isin(own[alone], of_records)),
        "used_and_matched": used,
        "left_out_and_matched": left_out,
        "standard_error": error,
        "is_beyond_chance": abs(used - left_out) > _FAR * error,
    }


def matched_rows(workers: Ints, records: Ints) -> float:
    """Share of the records that equal exactly one worker; both are numbers of rows."""
    counts = np.bincount(workers, minlength=int(records.max(initial=0)) + 1)
    return _share(counts[records] == 1)


def _alone(workers: Ints) -> Bools:
    """Which workers nobody else equals."""
    return np.asarray(np.bincount(workers)[workers] == 1)


def _share(found: Bools) -> float:
    return float(found.mean()) if found.size else float("nan")


def _half_used(codes: Codes, n_records: int, plan: Plan, drawn: DrawnRecords) -> tuple[float, float, float]:
    """Of workers who are alone, shares that some row equals: of those that filled the tables, of others; and its error.

    A keyed half of the workers fills the tables, with the noise of the plan; as many records are drawn.
    """
    key = draw_key(_HALF_KEY)
    is_used = split_records(len(codes), _HALVES, key=key) == 0
    model = learn_model(
        np.ascontiguousarray(codes[is_used]), drawn.model.structure, epsilon=plan.model_epsilon, key=key
    )
    own, others = row_numbers([codes, draw_records(model, n_records, key=key)])
    alone = _alone(own)
    matched = np.isin(own, others)
    used, left_out = (_share(matched[alone & chosen]) for chosen in (is_used, ~is_used))
    both = _share(matched[alone])
    counts = [max(int((alone & chosen).sum()), 1) for chosen in (is_used, ~is_used)]
    return used, left_out, float(np.sqrt(both * (1 - both) * (1 / counts[0] + 1 / counts[1])))
