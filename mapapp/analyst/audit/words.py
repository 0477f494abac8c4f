"""An audit in sentences and lines of text, for a person."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import pandas

from mapapp.analyst.audit.questions import TARGETS_OF
from mapapp.analyst.audit.result import ATTACKERS, CLASSES, LIMITS, Audit, ReleaseFacts

__all__ = [
    "ATTACKER_WORDS",
    "TARGET_WORDS",
    "accuracy_table",
    "alarm_line",
    "audit_lines",
    "of_100",
    "place_of",
    "sentences_of",
]

TARGET_WORDS: Final[Mapping[str, str]] = {
    "home point": "home area",
    "home tract": "home tract",
    "home county": "home county",
    "earnings": "earnings",
    "industry": "industry",
}
"""What is predicted, in words; a home area is a support point of the mechanism."""

ATTACKER_WORDS: Final[Mapping[str, str]] = {
    "majority": "always the most frequent value",
    "public_prior": "public data alone",
    "naive_bayes": "naive Bayes from the release",
    "lookup_without_victim": "lookup, true data without the victim",
    "lookup": "lookup in the release",
    "memorised": "lookup, true data (everything memorized)",
    "informed_without_release": "knows all others, no release",
    "informed": "knows all others, and the release",
}


_HOME_AREA: Final = (
    "A home area is a support point: a tract near the workplace, a group of tracts farther away. Releases with other "
    "radii have other home areas; compare each with its own controls, or compare home tracts."
)


def sentences_of(facts: ReleaseFacts, tables: Mapping[str, pandas.DataFrame], n_lone: int) -> list[str]:
    """Say what an attacker would learn from one release, most exposed workers first."""
    rows_by_table = {
        name: table[table["release"] == facts["name"]] for name, table in tables.items() if len(table)
    }
    accuracy = _accuracies(rows_by_table["attackers"])
    said = []
    if n_lone and ("home point", "lookup", "1") in accuracy:
        said.append(
            f"Of {n_lone:,} workers who are alone in their workplace {place_of(facts, 'home point')}, "
            f"{of_100(accuracy['home point', 'lookup', '1'])} keep their true home area in {_name_release(facts)}."
        )
    if ("home point", "informed", "all") in accuracy:
        with_release = accuracy["home point", "informed", "all"]
        without = accuracy["home point", "informed_without_release", "all"]
        surest = rows_by_table["confidence"]
        top = surest[
            (surest["target"] == "home point")
            & (surest["attacker"] == "informed")
            & (surest["most_certain"] == 0.01)
        ]
        said.append(
            "Somebody who knows every other worker's home, the mechanism, and all public data names the home area of "
            f"{of_100(with_release)} workers with {_name_release(facts)} and of {of_100(without)} without it; "
            f"of the 1% of workers about whom this attacker is most certain, {of_100(float(top['accuracy'].iloc[0]))}."
        )
    if ("home point", "lookup", "all") in accuracy:
        said.append(_leakage_sentence(accuracy, facts))
    said += [
        _band_sentence(accuracy, target, facts)
        for target in ("earnings", "industry")
        if _has_target(accuracy, target)
    ]
    return said


def _has_target(accuracy: Mapping[tuple[str, str, str], float], target: str) -> bool:
    return (target, "lookup", "all") in accuracy


def place_of(facts: ReleaseFacts, target: str) -> str:
    """What n counts the workers of."""
    if facts["compared_by"] == "block and segment":
        return "block and segment"
    return "block" if target in TARGETS_OF["home"] else f"block and band of {target}"


def _name_release(facts: ReleaseFacts) -> str:
    return "this release" if facts["is_release"] else "a release with this setting"


def _accuracies(attackers: pandas.DataFrame) -> dict[tuple[str, str, str], float]:
    return {
        (row["target"], row["attacker"], row["n"]): float(row["accuracy"])
        for row in attackers.to_dict("records")
    }


def _leakage_sentence(accuracy: Mapping[tuple[str, str, str], float], facts: ReleaseFacts) -> str:
    release, others = (
        accuracy["home point", attacker, "all"] for attacker in ("lookup", "lookup_without_victim")
    )
    if release <= others:
        return (
            f"Somebody who looks a worker up in {_name_release(facts)} names the home area of {of_100(release)} "
            f"workers. The true homes of the other workers alone would give {of_100(others)}, so on average this "
            "attacker does no better than from those."
        )
    return (
        f"Somebody who looks a worker up in {_name_release(facts)} names the home area of {of_100(release)} workers. "
        f"The true homes of the other workers alone would give {of_100(others)}; on balance, the worker's own "
        "record adds the rest."
    )


def _band_sentence(accuracy: Mapping[tuple[str, str, str], float], target: str, facts: ReleaseFacts) -> str:
    known = f"Counts by workplace block, age, and {'industry' if target == 'earnings' else 'earnings'}"
    if facts["compared_by"] != "block and segment":
        known = f"Counts of {target} by workplace block"
    public, release = (accuracy[target, attacker, "all"] for attacker in ("public_prior", "lookup"))
    return (
        f"{known} are public and exact: they alone give the {target} of {of_100(public)} "
        f"workers; for somebody who also knows a worker's home tract, {_name_release(facts)} gives {of_100(release)}."
    )


def of_100(share: float) -> str:
    """Return a share as people say it, with a digit more where it would round to none or all."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} in 100"
    if not 0.0005 <= share < 0.9995:
        return "fewer than 1 in 1,000" if share < 0.5 else "nearly all"
    return f"{100 * share:.{0 if 0.01 <= share <= 0.99 else 1}f} in 100"


def audit_lines(audit: Audit) -> list[str]:
    """Lines for the terminal: sentences first, then tables."""
    facts = audit.facts
    lines = [
        f"CONFIDENTIAL, not for publication: what an attacker would learn about {facts['workers']:,} workers",
        *_indent_sentences(audit.sentences),
        *([f"  {_HOME_AREA}"] if (audit.tables["attackers"]["target"] == "home point").any() else []),
    ]
    lines += [f"  {line}" for line in _spread_lines(audit)]
    names = [release["name"] for release in facts["releases"]]
    attackers = audit.tables["attackers"]
    asked = [target for targets in TARGETS_OF.values() for target in targets]
    for target in asked:
        of_target = attackers[attackers["target"] == target]
        if len(of_target):
            places = dict.fromkeys(place_of(release, target) for release in facts["releases"])
            title = f"{TARGET_WORDS[target]}: workers named right, by the number of workers in their "
            title += " or ".join(places)
            lines += ["", *accuracy_table(of_target, title, names)]
    lines += _lone_lines(audit.tables["lone_workers"])
    lines += _confidence_lines(audit.tables["confidence"], names)
    lines += _calibration_lines(audit.tables["calibration"], names)
    lines += _leakage_lines(audit.tables["leakage"], names)
    if "tradeoff" in audit.tables:
        lines += _tradeoff_lines(audit.tables["tradeoff"], audit.tables["schemes"])
    for release in facts["releases"]:
        lines += [f"  {release['name']}: {left_out}" for left_out in release["left_out"]]
    return [*lines, "", f"  {LIMITS}"]


def _indent_sentences(sentences: Sequence[str]) -> list[str]:
    return [f"  {sentence}" for sentence in sentences]


def _groups(table: pandas.DataFrame, first: str, second: str) -> list[tuple[str, str, pandas.DataFrame]]:
    """The rows of a table by two columns, in the order of their first rows."""
    groups = table.groupby([first, second], sort=False)
    return [(str(key[0]), str(key[1]), rows) for key, rows in groups]


def _percent(value: float) -> str:
    return "-" if pandas.isna(value) else f"{100 * value:.1f}%"


def _heads(names: Sequence[str], width: int) -> str:
    return "".join(f"  {name[:width]:<{width}}" for name in names)


def accuracy_table(
    attackers: pandas.DataFrame, title: str, names: Sequence[str], words: Mapping[str, str] = ATTACKER_WORDS
) -> list[str]:
    """Accuracy by attacker and n; releases side by side."""
    width = 9 * len(CLASSES)
    lines = [
        f"  {title}",
        f"  {'':<42}{_heads(names, width)}".rstrip() if len(names) > 1 else "",
        f"  {'':<42}" + ("  " + "".join(f"{n:>9}" for n in CLASSES)) * len(names),
    ]
    for attacker in ATTACKERS:
        rows = attackers[attackers["attacker"] == attacker]
        if not len(rows):
            continue
        cells = ""
        for name in names:
            of_n = rows[rows["release"] == name].set_index("n")["accuracy"]
            cells += "  " + "".join(f"{_percent(of_n.get(n, float('nan'))):>9}" for n in CLASSES)
        lines.append(f"  {words[attacker]:<42}{cells}")
    return [line for line in lines if line]


def _lone_lines(lone: pandas.DataFrame) -> list[str]:
    known = lone[(lone["workers"] > 0) & lone["expected"].notna()]
    lines = [
        f"  {row['release']}: {row['found']:.2%} of lone workers keep their home area; by the closed form "
        f"{row['expected']:.2%} ± {row['standard_error']:.2%}, before any cleaning"
        + _OFF[bool(row["is_off"])]
        for row in known.to_dict("records")
    ]
    return ["", *lines] if lines else []


def _confidence_lines(confidence: pandas.DataFrame, names: Sequence[str]) -> list[str]:
    shares = sorted(confidence["most_certain"].unique())
    lines = ["", "  named right among the workers about whom the attacker is most certain"]
    head = "".join(f"{f'{share:.0%}':>9}" for share in shares)
    lines.append(f"  {'':<54}" + f"  {head}" * len(names))
    for target, attacker, rows in _groups(confidence, "target", "attacker"):
        if attacker not in ("naive_bayes", "lookup", "informed"):
            continue
        cells = ""
        for name in names:
            of_share = rows[rows["release"] == name].set_index("most_certain")["accuracy"]
            cells += "  " + "".join(f"{_percent(of_share.get(share, float('nan'))):>9}" for share in shares)
        lines.append(f"  {f'{TARGET_WORDS[target]}, {ATTACKER_WORDS[attacker]}':<54}{cells}")
    return lines


def _calibration_lines(calibration: pandas.DataFrame, names: Sequence[str]) -> list[str]:
    """How much of what the strongest attackers claim is true."""
    chosen = calibration[
        (calibration["target"] == "home point") & calibration["attacker"].isin(("lookup", "informed"))
    ]
    if not len(chosen):
        return []
    lines = ["", "  home area: what the attacker claims, and how much of it is true (workers)"]
    for name, attacker, rows in _groups(chosen, "release", "attacker"):
        of = f"{name}: " if len(names) > 1 else ""
        cells = "; ".join(
            f"{row['mean_belief']:.2f} → {row['accuracy']:.2f} ({row['workers']:,})"
            for row in rows.to_dict("records")
            if row["workers"]
        )
        lines.append(f"  {of}{ATTACKER_WORDS[attacker]}: {cells}")
    return lines


def _leakage_lines(leakage: pandas.DataFrame, names: Sequence[str]) -> list[str]:
    """What the others teach apart from what the worker's own record gives away, in points."""
    lines = [
        "",
        "  percentage points that the others teach, and that the worker's own record adds on balance, by n",
    ]
    for target, attacker, rows in _groups(leakage, "target", "attacker"):
        cells = ""
        for name in names:
            of_n = rows[rows["release"] == name].set_index("n")
            for n in CLASSES:
                if n in of_n.index:
                    pair = of_n.loc[n]
                    cells += f"{n:>6}: {100 * pair['population']:+.1f} {100 * pair['individual']:+.1f}"
            cells += "  "
        lines.append(f"  {f'{TARGET_WORDS[target]}, {attacker}':<24}{cells}".rstrip())
    return lines


def _tradeoff_lines(tradeoff: pandas.DataFrame, schemes: pandas.DataFrame) -> list[str]:
    """Every scheme's error and leakage, then what each scheme leaks at each release's error."""
    lines = []
    for target in schemes["target"].unique():
        lines += [
            "",
            f"  {TARGET_WORDS[target]}: median relative error of counts, workers named right by lookup (lone workers)",
        ]
        of_target = schemes[schemes["target"] == target]
        every, lone = (of_target[of_target["n"] == n].reset_index(drop=True) for n in ("all", "1"))
        lines += [
            f"  {row['label']:<42}{_percent(row['median_relative_error']):>9}{_percent(row['lookup']):>9}"
            f"  ({_percent(of_lone)})"
            + ("" if row["meets_rule"] else "  not met even by all workers together")
            for row, of_lone in zip(every.to_dict("records"), lone["lookup"], strict=True)
        ]
        lines += _equal_error_lines(tradeoff[tradeoff["target"] == target])
    return lines


def _equal_error_lines(tradeoff: pandas.DataFrame) -> list[str]:
    lines = []
    for name, n, rows in _groups(tradeoff, "release", "n"):
        first = rows.iloc[0]
        others = ", ".join(
            f"{row['scheme']} " + (_percent(row["scheme_leakage"]) if row["reached"] else "not reached")
            for row in rows.to_dict("records")
        )
        who = "all workers" if n == "all" else "lone workers"
        lines.append(
            f"  at the error of {name} ({_percent(first['median_relative_error'])}), {who}: {name} "
            f"{_percent(first['leakage'])}, {others}"
        )
    return lines


def _spread_lines(audit: Audit) -> list[str]:
    """One line for each release whose likelihood ratios were asked for."""
    mechanism = {release["name"]: release["mechanism"] for release in audit.facts["releases"]}
    lines = []
    for row in audit.tables["spread"].to_dict("records"):
        if row["pairs"] and row["is_broken"]:
            lines.append(alarm_line(row))
        elif row["pairs"]:
            lines.append(_kept_line(row, mechanism[str(row["release"])]))
        elif row["untested"]:
            lines.append(f"{row['release']}: {_UNTESTED.format(untested=row['untested'])}")
    return lines


_UNTESTED: Final = (
    "the promise was not tested: all {untested:,} blocks and segments are in tracts with a remainder"
)

_OFF: Final = {
    False: "",
    True: ". NOT DRAWN BY ITS LAW: this is a bug in commutemap; do not publish the release, and report it",
}


def _kept_line(row: Mapping[Hashable, object], mechanism: str) -> str:
    said = (
        "{release}: no likelihood ratio breaks the promise. The greatest spread of their logarithms is {largest:.3f}, "
        "epsilon_final is {epsilon_final:.3f}; {exceeding:,} of {pairs:,} blocks and segments exceed it, and delta "
        "{delta:g} allows {allowed:,}"
    )
    if row["untested"]:
        said += "; {untested:,} more are in tracts with a remainder, and were not tested"
    if mechanism == "exponential":  # its likelihood ratios are within epsilon for any table
        said += ". For this mechanism that tests its constants; its draw is tested by the lone workers below"
    return said.format_map(_whole_counts(row))


def _whole_counts(row: Mapping[Hashable, object]) -> dict[str, object]:
    """The row with whole counts, which a column with a missing value has as floats."""
    counts = ("pairs", "untested", "exceeding", "allowed")
    return {
        str(name): int(str(value).removesuffix(".0")) if name in counts else value
        for name, value in row.items()
    }


def alarm_line(row: Mapping[Hashable, object]) -> str:
    """Say that a release breaks its promise, from its row of the table `spread`."""
    return (
        "{release}: PROMISE BROKEN. In {exceeding:,} of {pairs:,} workplace blocks and segments, the release "
        "distinguishes two possible homes of one worker by more than epsilon_final {epsilon_final:.3f} (greatest "
        "{largest:.3f}); delta {delta:g} allows {allowed:,}. This is a bug in commutemap: do not publish the release, "
        "and report it"
    ).format_map(_whole_counts(row))
