"""Last year's release as this year's public prior: its workers, summed to flows between tracts.

A release is public, so its flows cost nothing to use, as a public flow table would. A dataset is refused: a prior made
from its confidential counts would reach the new release without noise of its own, and no certificate counts that. The
same people may be in both releases, so the two promises compose in sequence (docs/theory/method.md, section 1).

The new release carries the flows in its own `prior` table, so that it can be checked without last year's; its manifest
and its certificate say which release that was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas

from engine.errors import ParameterError
from engine.parameters import exact_fraction
from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.manifest import read_manifest
from geodata.store.store import Store, open_store, store_digest
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import FOR_RELEASE, Certificate, CertificateCheck, exact_number
from mapapp.kinds.base.geography import Ints

LAST_RELEASE_CAVEAT = (
    "The prior is an earlier release (construction, last_release). The same people may be in both releases, so their "
    "promises compose in sequence: their epsilons add up, and so do their deltas. This certificate states only the "
    "promise of its own release."
)

_LEAST_MATCHED: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFlows:
    """The workers of a release as flows between the tracts of another store.

    Attributes
    ----------
    table : DataFrame
        The schema's PRIOR, sorted by destination, then origin; one row a pair.
    n_workers : int
        Workers of the release.
    n_unmatched : int
        Of these, those whose workplace or home is in no tract of the other store; they are left out.
    """

    table: pandas.DataFrame
    n_workers: int
    n_unmatched: int


def add_last_release(dataset: Store, path: Path, *, for_release: bool = True) -> Store:
    """The dataset with the flows of an earlier release for its public prior; nothing on disk changes.

    Parameters
    ----------
    dataset : Store
        A dataset.
    path : Path
        The earlier release.
    for_release : bool
        Whether what is made from the dataset may be published. Then the earlier release must be such, too.

    Raises
    ------
    UsageError
        `path` holds a dataset, or a release that is not for release, or one of other places.
    StoreError
        It is no whole release.
    """
    last = _open_last(path)
    facts = _facts(last)
    if for_release and facts["status"] != FOR_RELEASE:
        raise UsageError(
            f"{path}: its certificate says {facts['status']!r}, so what is made from it would not be for release "
            "either; give one that may be published, or add --test-key"
        )
    flows = release_flows(last, dataset)
    if flows.n_unmatched > (1 - _LEAST_MATCHED) * flows.n_workers or not flows.n_workers:
        raise UsageError(
            f"{path}: {flows.n_unmatched:,} of its {flows.n_workers:,} workers live or work in no tract of "
            f"{dataset.path}; give a release of the same places, with tracts of the same census"
        )
    facts |= {"workers": flows.n_workers, "workers_unmatched": flows.n_unmatched}
    return dataset.replace_table("prior", flows.table, last_release=facts)


def release_flows(last: Store, store: Store) -> ReleaseFlows:
    """Sum the workers of a release to flows between the tracts of another store, matched by `tract_id`.

    States outside the imported area match by their code, as tracts do. A home in a tract that `store` has not, of a
    state that it counts as a whole, goes to that state.

    Parameters
    ----------
    last : Store
        A release.
    store : Store
        A dataset, or a release.

    Raises
    ------
    StoreError
        The jobs of `last` are not what a release holds.
    """
    tracts = store.table("tracts", ["tract_id"])
    own = pandas.Index(tracts["tract_id"])
    theirs = last.table("tracts", ["tract_id", "state_id"])
    by_tract = own.get_indexer(pandas.Index(theirs["tract_id"])).astype(np.int64)
    by_state = own.get_indexer(pandas.Index(theirs["state_id"])).astype(np.int64)
    tract_of_block = last.table("blocks", ["tract_index"])["tract_index"].to_numpy()
    destination_of = by_tract[tract_of_block]
    origin_of = np.where(by_tract >= 0, by_tract, by_state)[tract_of_block]
    keys, counts = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    n_workers = n_matched = 0
    for part in last.batches("jobs", ["destination_index", "origin_index", "count"]):
        columns = {name: part[name].to_numpy() for name in part.column_names}
        count = columns["count"].astype(np.int64)
        destination, origin = (
            destination_of[columns["destination_index"]],
            origin_of[columns["origin_index"]],
        )
        placed = (destination >= 0) & (origin >= 0)
        key, total = _sum_by_key(destination[placed] * own.size + origin[placed], count[placed])
        keys.append(key)
        counts.append(total)
        n_workers += int(count.sum())
        n_matched += int(total.sum())
    key, total = _sum_by_key(np.concatenate(keys), np.concatenate(counts))
    table = pandas.DataFrame(
        {
            "destination_tract_index": (key // own.size).astype(np.int32),
            "origin_tract_index": (key % own.size).astype(np.int32),
            "weight": total.astype(np.float64),
        }
    )
    return ReleaseFlows(table=table, n_workers=n_workers, n_unmatched=n_workers - n_matched)


def check_last_release(release: Path, path: Path) -> CertificateCheck:
    """Whether the prior of a release is what its certificate says: the flows of the release at `path`.

    Raises
    ------
    StoreError, UsageError
        One of the two is no release.
    """
    store, last = open_store(release, "release"), _open_last(path)
    flows = release_flows(last, store)
    wanted = _facts(last) | {
        "workers": flows.n_workers,
        "workers_unmatched": flows.n_unmatched,
        "workers_matched": flows.n_workers - flows.n_unmatched,
    }
    stated = store.document("certificate.json").get("construction", {}).get("last_release")
    wrong = [] if stated == wanted else ["construction of its certificate"]
    prior = store.table("prior").sort_values(
        ["destination_tract_index", "origin_tract_index"], ignore_index=True
    )
    if not prior.equals(flows.table):
        wrong.append("`prior` table")
    detail = (
        f"not what the {' and the '.join(wrong)} say" if wrong else f"{len(prior):,} flows, sha256 and all"
    )
    return CertificateCheck(f"prior from {path}", not wrong, detail)


def last_release_lines(construction: Certificate) -> list[str]:
    """One line about the release that the prior came from; empty if it came from none."""
    last = construction.get("last_release")
    if last is None:
        return []
    name = last["title"] or f"release {last['manifest_sha256'][:12]}"
    return [
        f"  prior            {name}: {last['workers_matched']:,} of {last['workers']:,} workers matched "
        f"({last['workers_unmatched'] / last['workers']:.2%} left out); its epsilon_final "
        f"{last['epsilon_final']['value']:.3f} and delta {last['delta']['value']:g} add to this release's"
    ]


def _open_last(path: Path) -> Store:
    if read_manifest(path).get("kind") == "dataset":
        raise UsageError(
            f"{path}: this is a dataset; as a prior its confidential counts would enter a second release, and be spent "
            "twice, without noise that any accountant counts; give the release that was made from it"
        )
    return open_store(path, "release")


def _facts(last: Store) -> JsonObject:
    """What a certificate says of the release its prior came from."""
    try:
        certificate = last.document("certificate.json")
        promises_nothing = certificate["epsilon_final"] is None
        promise = {
            name: exact_number(exact_fraction(str(certificate[name]["exact"]), name))
            for name in ("epsilon_final", "delta")
            if not promises_nothing
        }
        status = str(certificate["status"])
    except (OSError, ValueError, KeyError, TypeError, ParameterError) as error:
        raise StoreError(
            f"{last.path}/certificate.json: epsilon_final, delta or status cannot be read ({type(error).__name__}), "
            "so what the release spent is not known; use one that `commutemap certify` accepts"
        ) from error
    if promises_nothing:
        raise UsageError(
            f"{last.path}: its certificate promises nothing, so as a prior it would carry confidential homes into what "
            "is made; give one that may be published"
        )
    return {
        "title": last.manifest.get("title"),
        "year": last.manifest.get("year"),
        "manifest_sha256": store_digest(last.path),
        "status": status,
        **promise,
    }


def _sum_by_key(key: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Distinct keys in rising order, and the sum of each."""
    order = np.argsort(key, kind="stable")
    key, count = key[order], count[order]
    start = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if key.size else key
    return key[start], np.add.reduceat(count, start) if start.size else count
