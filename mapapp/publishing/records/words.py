"""What a certificate of records says, as lines for a person."""

from __future__ import annotations

from geodata.json_objects import JsonMapping

__all__ = ["record_lines"]


def record_lines(certificate: JsonMapping) -> list[str]:
    """Return lines about the promise, the seeds, the model, and the numbers of records."""
    promise, seeds = certificate["promise"], certificate["seeds"]
    alone, replaced = promise["add_remove"], promise["replace_one"]
    grounds = "" if seeds is None else f" ({certificate['accountant']} accountant)"
    lines = [
        f"  promise          {_reading(alone)} with or without one worker{grounds}",
        f"  charged          {_reading(replaced)} with one worker replaced by another, as in the ledger",
    ]
    if seeds is None:
        lines.append("  seeds            none: every record is drawn from the model")
    else:
        lines.append(
            f"  seeds            k {seeds['min_plausible_seeds']:,}, threshold epsilon "
            f"{_value(seeds['threshold_epsilon'])}, forced failure {_value(seeds['forced_fail'])}; kept: "
            f"{', '.join(seeds['kept'])}"
        )
    model, counts = certificate["model"], certificate["records"]
    lines.append(
        f"  model            epsilon {model['epsilon']['value']:g}, {model['structure']} structure, "
        f"{sum(model['cells'].values()):,} cells"
    )
    lines += _dropped(model)
    lines += [f"  dropped          {name}: the dataset has none" for name in model["missing_attributes"]]
    if seeds is not None and seeds["passed"] is not None:
        lines.append(
            f"  records          {counts['n_passed']:,} of {counts['n_tried']:,} tries passed; {counts['topped_up']:,} "
            "more were drawn from the model"
        )
        if not seeds["passed"]:
            lines.append("  note             no candidate passed: all records were drawn from the model")
    if certificate["whole_record"] is not True:
        lines.append(f"  protects         {certificate['unit_of_protection']}")
    return lines


def _dropped(model: JsonMapping) -> list[str]:
    """One line for all parents that the records are too few for."""
    by_child: dict[str, list[str]] = {}
    for each in model["dropped_parents"]:
        by_child.setdefault(str(each["attribute"]), []).append(str(each["parent"]))
    if not by_child:
        return []
    listed = "; ".join(f"{child} on {' and '.join(parents)}" for child, parents in by_child.items())
    return [f"  dropped          dependence of {listed}: too few records for so many cells"]


def _reading(amounts: JsonMapping) -> str:
    return f"epsilon {amounts['epsilon']['value']:.6g}, delta {amounts['delta']['value']:g}"


def _value(exact: str) -> str:
    numerator, _, denominator = exact.partition("/")
    return f"{int(numerator) / int(denominator or 1):g}"
