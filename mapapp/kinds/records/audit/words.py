"""An audit of worker records in sentences and lines of text, for a person."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import pandas

from mapapp.analyst.audit.words import ATTACKER_WORDS, accuracy_table, of_100
from mapapp.kinds.records.audit.result import RECORDS_LIMITS, AuditedRecords, RecordsAudit
from mapapp.kinds.records.make.attributes import RecordAttribute

__all__ = ["GAME_WORDS", "RECORD_ATTACKER_WORDS", "records_audit_lines", "records_sentences"]

RECORD_ATTACKER_WORDS: Final[Mapping[str, str]] = {
    **ATTACKER_WORDS,
    "naive_bayes": "naive Bayes from the records",
    "lookup": "lookup in the records",
}

GAME_WORDS: Final[Mapping[tuple[str, str], str]] = {
    ("seeds", "exposed"): "a seed, the most exposed one",
    ("seeds", "alone"): "a seed, alone in its group",
    ("parameters", "any"): "in the model's tables, anyone",
}
"""Who is attacked in a membership game."""

_BUG: Final = "this is a bug in commutemap; do not publish the records, and report it"


def records_sentences(
    facts: AuditedRecords, tables: Mapping[str, pandas.DataFrame], attributes: Sequence[RecordAttribute]
) -> list[str]:
    """Say what an attacker would learn from one set of records."""
    title = {attribute.name: attribute.title for attribute in attributes}
    said = [
        _game_sentence(row) for row in tables["membership"].to_dict("records") if row["target"] != "alone"
    ]
    said += _attribute_sentences(tables["attackers"], title)
    said += _link_sentences(tables["linkage"].to_dict("records")[0])
    if not facts["is_of_these_workers"]:
        said.append("The certificate commits to other workers than this dataset's.")
    return said


def _game_sentence(row: Mapping[Hashable, object]) -> str:
    which, sees = (
        ("was a seed", "which records came from seeds")
        if row["part"] == "seeds"
        else ("filled the model's tables", "the noisy tables themselves")
    )
    right, most = (100 * float(str(row[name])) for name in ("exact_right", "most_right"))
    return (
        f"Asked whether a worker {which} or was not in the data at all, somebody who knows every other worker and is "
        f"shown {sees} can be right in {right:.0f} of 100 cases. Guessing is right in 50, and the promise allows "
        f"{most:.0f}."
    )


def _attribute_sentences(attackers: pandas.DataFrame, title: Mapping[str, str]) -> list[str]:
    accuracy = attackers.set_index(["target", "attacker", "n"])["accuracy"]
    workers = attackers.set_index(["target", "attacker", "n"])["workers"]
    said = []
    for target in attackers["target"].drop_duplicates():
        with_records, others = (
            float(accuracy[target, name, "all"]) for name in ("lookup", "lookup_without_victim")
        )
        name = title[target].lower().replace("puma", "PUMA")
        text = (
            f"Somebody who knows everything else about a worker and looks in the records names the {name} of "
            f"{of_100(with_records)} workers; with the other real workers instead of the records, it would be "
            f"{of_100(others)}."
        )
        if workers[target, "lookup", "1"]:
            alone, without = (
                float(accuracy[target, attacker, "1"]) for attacker in ("lookup", "lookup_without_victim")
            )
            text += f" For workers whom nobody equals in what is known, it is {of_100(alone)}, and {of_100(without)}."
        said.append(text)
    return said


def _link_sentences(row: Mapping[Hashable, object]) -> list[str]:
    share = {name: float(str(row[name])) for name in _SHARES if row[name] is not None}
    said = [
        f"{share['alone_in_all']:.1%} of workers are alone with their values of all attributes. "
        f"{share['rows_matching_one']:.1%} of records equal exactly one worker; of a fresh draw of the model alone, "
        f"{share['fresh_rows_matching_one']:.1%} do."
    ]
    used, left_out = share["used_and_matched"], share["left_out_and_matched"]
    if math.isnan(used) or math.isnan(left_out):
        return said
    verdict = (
        "so a match says something about who was used"
        if row["is_beyond_chance"]
        else "which cannot be told from chance"
    )
    said.append(
        f"Of workers who are alone, {used:.1%} are matched if they fill the model's tables, and {left_out:.1%} if they "
        f"are left out: a difference of {abs(100 * (used - left_out)):.1f} points, with a standard error of "
        f"{100 * float(str(row['standard_error'])):.1f}, {verdict}."
    )
    return said


_SHARES: Final = (
    "alone_in_kept",
    "alone_in_all",
    "rows_matching_one",
    "fresh_rows_matching_one",
    "used_and_matched",
    "left_out_and_matched",
)


def records_audit_lines(audit: RecordsAudit) -> list[str]:
    """Lines for the terminal: sentences first, then tables."""
    facts = audit.facts
    lines = [
        f"CONFIDENTIAL, not for publication: what an attacker would learn about {facts['workers']:,} workers",
        *(f"  {sentence}" for sentence in audit.sentences),
    ]
    names = [about["name"] for about in facts["records"]]
    for about in facts["records"]:
        lines += ["", *_membership_lines(audit, about, named=len(names) > 1)]
    if "promise" in audit.tables:
        lines += _promise_lines(audit.tables["promise"])
    attackers = audit.tables["attackers"]
    for target in attackers["target"].drop_duplicates():
        title = f"{facts['titles'][target]}: workers named right, by the number of workers who share what is known"
        target_rows = attackers[attackers["target"] == target]
        lines += ["", *accuracy_table(target_rows, title, names, RECORD_ATTACKER_WORDS)]
    lines += ["", *_link_lines(audit.tables["linkage"])]
    lines += [f"  {line}" for line in _law_lines(audit.tables["law"])]
    lines += [
        f"  {about['name']}: {left_out}" for about in facts["records"] for left_out in about["left_out"]
    ]
    return [*lines, "", f"  {RECORDS_LIMITS}"]


def _membership_lines(audit: RecordsAudit, facts: AuditedRecords, *, named: bool) -> list[str]:
    table = audit.tables["membership"]
    rows = table[table["release"] == facts["name"]].to_dict("records")
    of = f"{facts['name']}: " if named else ""
    lines = [
        f"  {of}was the worker in the data? Epsilon for one record added or taken away, and how often the attacker is "
        "right",
        f"  {'':<34}{'delta':>9}{'promised':>10}{'exact':>9}{'shown':>9}{'right: promised':>18}"
        f"{'exact':>9}{'shown':>9}",
    ]
    for row in rows:
        lines.append(
            f"  {GAME_WORDS[row['part'], row['target']]:<34}{row['delta']:>9g}{row['epsilon']:>10.3f}"
            f"{row['exact_epsilon']:>9.3f}{row['shown_epsilon']:>9.3f}{row['most_right']:>18.1%}"
            f"{row['exact_right']:>9.1%}{row['shown_right']:>9.1%}"
        )
        if row["is_broken"]:
            lines.append(
                f"  PROMISE BROKEN: draws show an epsilon of at least {row['sure_epsilon']:.3f} (all but once in a "
                f"billion audits), and {row['epsilon']:.3f} is promised; {_BUG}"
            )
        elif row["shown_epsilon"] > row["epsilon"]:
            lines.append(
                "  shown is above promised, as happens by chance once in 20 audits; repeat with more --draws"
            )
    return [
        *lines,
        f"  exact: the best attacker, by the law of the draw; shown: a lower bound from {audit.facts['draws']:,} draws "
        "with and without the worker, which holds in 95% of audits",
    ]


def _promise_lines(promise: pandas.DataFrame) -> list[str]:
    return [
        "",
        "  epsilon of seeds against delta",
        f"  {'':<34}{'delta':>9}{'promised':>10}{'exact':>9}{'one candidate, worst case':>28}",
        *(
            f"  {row['release'][:32]:<34}{row['delta']:>9g}{row['certified']:>10.3f}{row['exact']:>9.3f}"
            f"{row['one_candidate']:>28.4f}"
            for row in promise.to_dict("records")
        ),
    ]


def _link_lines(linkage: pandas.DataFrame) -> list[str]:
    lines = ["  links between rows and workers"]
    for row in linkage.to_dict("records"):
        lines += [
            f"  {row['release']}",
            *(
                f"    {words:<78}{row[name]:>8.2%}"
                for name, words in _LINK_WORDS.items()
                if row[name] is not None and not pandas.isna(row[name])
            ),
        ]
    return lines


_LINK_WORDS: Final = {
    "alone_in_kept": "workers who are alone with their kept attributes",
    "alone_in_all": "workers who are alone with all of their attributes",
    "rows_matching_one": "records that equal exactly one worker",
    "fresh_rows_matching_one": "the same, of a fresh draw of the model alone",
    "alone_and_matched": "workers who are alone and whom a record equals",
    "used_and_matched": "the same, of workers who fill the tables of another draw",
    "left_out_and_matched": "the same, of workers whom that draw leaves out",
}


def _law_lines(law: pandas.DataFrame) -> list[str]:
    return [
        f"{row['release']}: {row['what']}, in a draw of the same plan: {row['found']:,} of {row['of']:,}; by its law "
        f"{row['expected']:,.0f} ± {row['standard_error']:,.1f}"
        + (f". NOT DRAWN BY ITS LAW: {_BUG}" if row["is_off"] else "")
        for row in law.to_dict("records")
    ]
