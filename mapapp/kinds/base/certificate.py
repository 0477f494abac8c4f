"""Words and rules that writing a certificate and checking one share."""

from __future__ import annotations

import hashlib
import hmac
import math
import platform
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from engine.accountant.paper import RULES, theorem_4_1_weight
from engine.errors import CertificateError
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters, Unit
from geodata.json_objects import JsonMapping, JsonObject
from geodata.store.schema import PUBLIC_TABLES, Table
from geodata.store.store import Store
from mapapp.answers.claims import ExactNumber, as_json
from mapapp.answers.release_claims import Precondition

FOR_RELEASE = "for release"
NOT_FOR_RELEASE = "not for release"
TEST_KEY_REASON = "test key: it is public, so anyone can undo the release"

UNDECLARED_COUNTS_REASON = (
    "the numbers of jobs at workplaces, which are shown exactly, come from worker records and have not been declared "
    "public (import --workers with --counts-are-public)"
)
UNDECLARED_FLOWS_REASON = (
    "the numbers of trips to each destination, which are shown exactly, are confidential and have not been declared "
    "public (import --zones with --counts-are-public)"
)
_LIFTABLE_REASONS = (UNDECLARED_COUNTS_REASON, UNDECLARED_FLOWS_REASON)
"""Reasons that can cease to hold for a publication that was made already: its counts may be published later."""

LATER_FIELDS_CHECK = "fields of later versions"

RUN_ID = "run_id"

UNREADABLE: Final = (ValueError, LookupError, ArithmeticError)
"""What a certificate whose fields have the right types can still raise if it does not go with its publication."""

RULE_4_1, RULE_4_4 = RULES[2], RULES[3]

DRAWN_TOGETHER: Final[Mapping[Unit, str]] = {
    "cell": "(destination block, segment)",
    "block": "destination block",
    "tract": "destination tract",
}
"""The workers of one unit, whom a mechanism draws together."""

UNIT = (
    "The home of one worker, given workplace and segment, which are public. A person with two jobs is two "
    "workers."
)
UNIT_GIVEN_COUNTS = (
    "The home of one worker, given workplace and segment, whose numbers of workers are shown exactly. A person with "
    "two jobs is two workers."
)
MARGINS_CAVEAT = (
    "The source has only the margins of segments for each pair of workplace and home (LODES), so joint segments were "
    "assigned to its jobs before synthesis. The promise is about the table of workers after that step, and does not "
    "cover the step: where a worker lives can change the segment that a colleague is assigned, and with it a "
    "published number of workers. In Rhode Island 2019, 3,000 of 29,014 assigned jobs decide the segment of a "
    "colleague. Of pairs of colleagues, 23% could not have lived in each other's block without changing a published "
    "number, so that home is ruled out with certainty."
)
BLOCK_MARGINS_CAVEAT = (
    "The source has only the margins of segments for each pair of workplace and home (LODES). Joint segments were "
    "computed from the margins of each workplace (age, earnings, industry) alone, which no home changes, so the "
    "promise holds for the source as it came. The margins of a workplace are those of the source; its joint numbers "
    "are not."
)
EARLIER_MARGINS_CAVEAT = (
    "If a source has only the margins of segments (LODES), a rule that reads the margins of each pair of workplace "
    "and home assigns joint segments to its jobs before synthesis. The promise is about the table of workers after "
    "that step."
)
SINGLE_HOMES_CAVEAT = (
    "The promise protects single homes. It does not hide facts about a whole workplace, and it does not hide "
    "workplaces, segments, or numbers of workers."
)

_NUMBER_KEPT: Final[Mapping[Unit, str]] = {
    "cell": "with the same number of workers",
    "block": "with the same number of workers in each segment",
    "tract": "with the same number of workers in each (destination block, segment)",
}

_HASH = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}")


Certificate = JsonMapping
"""A certificate as JSON. One that is checked comes from a file and may hold anything, so its fields have no types."""
Row = JsonMapping
"""A row of a certificate's accounting, as JSON."""


class CertificateCheck(NamedTuple):
    """One claim of a certificate, whether it holds, and the numbers."""

    check: str
    ok: bool
    detail: str


def are_liftable(reasons: Iterable[str]) -> bool:
    """Whether there are reasons not to release, and all of them can cease to hold for what was made already.

    Such a publication spends what it promises, because it may be published after all.
    """
    listed = tuple(reasons)
    return bool(listed) and set(listed) <= set(_LIFTABLE_REASONS)


def is_charged(reasons: Iterable[str]) -> bool:
    """Whether a publication with these reasons not to release spends what it promises: it is, or may be, published."""
    listed = tuple(reasons)
    return not listed or are_liftable(listed)


def has_run_id(certificate: Certificate) -> bool:
    """Whether a certificate states the id of its run in the form of one, or has none."""
    return RUN_ID not in certificate or bool(_ID.fullmatch(str(certificate[RUN_ID])))


def each_by_itself(unit: Unit) -> str:
    """Return what the probabilistic reading holds for: each group of workers drawn together."""
    return f"each {DRAWN_TOGETHER[unit]} by itself"


def neighbors(unit: Unit) -> str:
    """Return the sentence that says which tables are neighbors."""
    return f"Two tables of one {DRAWN_TOGETHER[unit]} {_NUMBER_KEPT[unit]} that differ in the home of one worker."


def composition(unit: Unit) -> str:
    """Return the sentences that say how promises add up within a release and across releases."""
    return (
        f"In parallel within a release: every worker is in one {DRAWN_TOGETHER[unit]}, so the worst one counts. In "
        "sequence across releases of the same workers: epsilons and deltas add up."
    )


def exact_number(value: Fraction) -> JsonObject:
    """Return a fraction as its exact text, and as a float for the eye, for a part of a certificate without a type."""
    return as_json(ExactNumber.of(value))


def delta_of_all(rows: Iterable[Row]) -> float:
    """Bound on the chance that any synthesizer of the release fails: the sum, at most 1."""
    return min(math.fsum(row["synthesizers"] * row["delta_bound"] for row in rows), 1.0)


def theorem_preconditions(
    privacy: PrivacyParameters, synthesis: SynthesisParameters, rows: Sequence[Row]
) -> list[Precondition]:
    """What the theorems ask for, whether it holds, and the evidence."""
    pure = [row for row in rows if row["rule"] == RULE_4_1]
    probable = [row for row in rows if row["rule"] == RULE_4_4]
    delta = float(privacy.delta)
    worst = max((row["delta_bound"] for row in probable), default=0.0)
    least = min(row["least_retention_units"] for row in rows) / RETENTION_UNITS
    unused = "not used"
    items = [
        (
            "neighboring tables have the same number of workers",
            synthesis.editing != "drop",
            f"editing is {synthesis.editing!r}",
        ),
        (
            "theorem 4.1: every prior weight is at least m / (e^epsilon - 1)",
            all(pure_weights_hold(row, privacy.epsilon) for row in pure),
            f"{len(pure)} rows" if pure else unused,
        ),
        (
            "theorem 4.4: epsilon is above ln 3",
            not probable or privacy.epsilon > Fraction(math.log(3)) + Fraction(1, 10**12),
            f"epsilon is {float(privacy.epsilon):g}, ln 3 is 1.0986" if probable else unused,
        ),
        (
            "theorem 4.4: as many workers are drawn as there are",
            True,
            "used only where m = n" if probable else unused,
        ),
        (
            "theorem 4.4: the reference 0-sample and the tails themselves stay within delta",
            worst <= delta,
            f"largest bound {worst:.6g}, delta {delta:g}" if probable else unused,
        ),
        (
            "theorem 5.2: every support point can be kept, and those that can be pruned weigh at most 1",
            least > 0,
            f"least retention {least:.6g}" if least < 1 else "nothing is pruned",
        ),
    ]
    return [Precondition(name=name, holds=bool(holds), evidence=evidence) for name, holds, evidence in items]


def pure_weights_hold(row: Row, epsilon: Fraction) -> bool:
    """Whether the least weight of a row is what Theorem 4.1 asks for."""
    weight = row["worst_min_prior_weight_units"] / WEIGHT_UNITS
    return bool(weight >= theorem_4_1_weight(row["published_count"], epsilon) * (1 - 1e-15))


def require_hashes(*groups: Mapping[str, str]) -> None:
    """Refuse what cannot be a SHA-256 in hexadecimal."""
    for group in groups:
        for name, digest in group.items():
            if not _HASH.fullmatch(digest):
                raise CertificateError(f"hash of {name} is {digest!r}; 64 hexadecimal digits are needed")


# What a certificate says of its inputs and of the software that read them.

TEST_RUN_ID = "0" * 32
"""Of every run under the published test key, so that its certificate can be repeated."""

_CHUNK = 1 << 20


def new_run_id(*, is_test: bool) -> str:
    """Draw the public id of a run, by which its ledger line and its certificate find each other: 32 hex digits."""
    return TEST_RUN_ID if is_test else secrets.token_hex(16)


def keyed_file_hash(key: bytes, path: Path) -> str:
    """HMAC-SHA256 of a confidential file under the commitment key, in hexadecimal."""
    code = hmac.new(key, digestmod=hashlib.sha256)
    with open(path, "rb") as file:
        while chunk := file.read(_CHUNK):
            code.update(chunk)
    return code.hexdigest()


def public_hashes(store: Store, tables: Iterable[Table] = PUBLIC_TABLES) -> dict[str, str]:
    """Sha256 of public tables."""
    files = store.manifest["files"]
    return {table.name: files[f"{table.name}.parquet"]["sha256"] for table in tables}


def software_versions() -> dict[str, str]:
    """Versions of what computed the release."""
    versions = {"python": platform.python_version()}
    for name in ("commutemap", "numpy", "scipy", "numba"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions
