"""One synthesis run: dataset → coarsen, edit, prior, certify, prune, sample → release."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.coarsening import LEVEL_REMAINDER
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.placement import BlockTable, place_blocks
from engine.prior import WEIGHT_ONE, redraw_weight
from engine.sound import require_fixed_count
from engine.streams import PublicSeed, SecretKey
from engine.synthesis import Synthesizers, redraw_remainder, synthesize
from geodata.store import Store, open_store, refuse_existing, writing_store
from mapapp.certificate import keyed_file_hash
from mapapp.ledger import Ledger
from mapapp.pipeline.inputs import Inputs, Ints, read_inputs
from mapapp.pipeline.output import copy_public_tables, jobs_table, points_table, public_facts
from mapapp.pipeline.promise import make_promise
from mapapp.pipeline.support import Support, build_support
from mapapp.progress import Report, silent

TEST_KEY_REASON = "test key: whoever knows it can undo the release"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run tells the analyst. Some of it is confidential: it is printed, never written.

    Attributes
    ----------
    release : Path
        Where the release is.
    certificate : dict
        As in the release.
    n_workers, n_synthesizers, n_destination_tracts : int
        Sizes.
    n_support : tuple of (least, mean, greatest)
        Support points of a destination tract, after editing.
    share_edited_out : float
        Share of the confidential workers whose support point was eliminated.
    """

    release: Path
    certificate: dict[str, Any]
    n_workers: int
    n_synthesizers: int
    n_destination_tracts: int
    n_support: tuple[int, float, int]
    share_edited_out: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values for `--json`."""
        least, mean, greatest = self.n_support
        return {
            "release": str(self.release),
            "status": self.certificate["status"],
            "epsilon": self.certificate["epsilon"]["value"],
            "delta": self.certificate["delta"]["value"],
            "epsilon_final": self.certificate["epsilon_final"]["value"],
            "n_workers": self.n_workers,
            "n_synthesizers": self.n_synthesizers,
            "n_destination_tracts": self.n_destination_tracts,
            "n_support": {"least": least, "mean": round(mean, 1), "greatest": greatest},
            "confidential": {"share_edited_out": self.share_edited_out},
        }

    def lines(self) -> list[str]:
        """Sentences for a person."""
        values = self.to_dict()
        least, mean, greatest = self.n_support
        return [
            f"{self.release}: {self.n_workers:,} synthetic workers from {self.n_synthesizers:,} synthesizers",
            f"  promise          epsilon_final {values['epsilon_final']:.3f}, delta {values['delta']:g} "
            f"({_grounds(self.certificate)})",
            f"  support points   {least}–{greatest}, mean {mean:.0f} ({self.n_destination_tracts} workplace tracts)",
            f"  edited out       {self.share_edited_out:.2%} of workers lived in eliminated points (confidential)",
            f"  status           {values['status']}",
        ]


def _grounds(certificate: dict[str, Any]) -> str:
    if certificate["accountant"] == "sound":
        return "sound accountant"
    return f"paper accountant: epsilon {certificate['epsilon']['value']:g} and the cost of pruning"


def run_synthesis(
    dataset_path: Path,
    release_path: Path,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    test_key: bool = False,
    threads: int | None = None,
    report: Report = silent,
) -> Outcome:
    """Make a release from a dataset.

    The order matters: the promise is certified, then entered in the ledger, and only then is anything drawn.

    Raises
    ------
    EngineError, GeodataError, LedgerError
        Nothing is left at `release_path`.
    """
    require_fixed_count(privacy, parameters)
    refuse_existing(release_path)
    threads = threads or os.cpu_count() or 1
    report("reading the dataset", 0, 0)
    dataset = open_store(dataset_path, "dataset")
    inputs = read_inputs(dataset)
    key = SecretKey.for_tests() if test_key else SecretKey.fresh()
    seed = PublicSeed.for_tests() if test_key else PublicSeed.fresh()
    report("making support points", 0, 0)
    support = build_support(seed, inputs, privacy, parameters)
    report("certifying prior weights", 0, 0)
    promise = make_promise(
        dataset,
        inputs,
        support,
        privacy,
        parameters,
        confidential_inputs=_confidential_hashes(dataset),
        reasons=(TEST_KEY_REASON,) if test_key else (),
    )
    with writing_store(release_path, "release") as writer:
        _spend(dataset_path, release_path, promise.certificate)
        report("drawing synthetic workers", 0, 0)
        home_block, edited_out = _draw(key, inputs, support, promise.min_prior_weight, parameters, threads)
        report("drawing points", 0, 0)
        writer.table("jobs", jobs_table(inputs, home_block))
        writer.table("points", points_table(key, inputs, home_block, dataset.table("cells"), threads=threads))
        report("writing the release", 0, 0)
        copy_public_tables(dataset, writer)
        writer.document("certificate.json", promise.certificate)
        writer.facts(**public_facts(dataset))
    return _outcome(release_path, promise.certificate, inputs, support, edited_out)


def _spend(dataset: Path, release: Path, certificate: dict[str, Any]) -> None:
    """Enter the promise in the dataset's ledger; LedgerError where it would pass the budget."""
    Ledger(dataset).spend(
        epsilon=certificate["epsilon_final"]["exact"],
        delta=certificate["delta"]["exact"],
        release=release.name,
        reasons=tuple(certificate["status_reasons"]),
    )


def _confidential_hashes(dataset: Store) -> dict[str, str]:
    """Keyed hash of the confidential jobs: whoever holds the dataset can show that a release came from it."""
    return {"jobs": keyed_file_hash(bytes.fromhex(dataset.manifest["commitment_key"]), dataset.file("jobs"))}


def _draw(
    key: SecretKey,
    inputs: Inputs,
    support: Support,
    min_weight: Ints,
    parameters: SynthesisParameters,
    threads: int,
) -> tuple[Ints, float]:
    """Draw every synthetic worker's home block; also the confidential share of workers edited out."""
    synthesizers, edited_out = _likelihood(inputs, support, min_weight)
    # Both accountants certify pruning that spares what weighs more than one worker; so it is drawn.
    drawn = synthesize(key, synthesizers, support.table, certain_above=WEIGHT_ONE, threads=threads)
    drawn = redraw_remainder(
        key, synthesizers, drawn, support.coarsening, redraw_weight(support.share), threads=threads
    )
    tract_of_block = inputs.tract_of_block
    blocks = BlockTable(
        block_ptr=np.searchsorted(tract_of_block, np.arange(len(inputs.tracts) + 1)).astype(np.int64),
        block_population=inputs.blocks["population"].to_numpy(np.int64),
    )
    home_block = place_blocks(
        key,
        synthesizers,
        drawn,
        support.coarsening,
        blocks,
        inputs.destination_tract,
        mode=parameters.placement,
        threads=threads,
    )
    return home_block, edited_out


def _likelihood(inputs: Inputs, support: Support, min_weight: Ints) -> tuple[Synthesizers, float]:
    """Every worker's support point. Under `drop` editing some have none, and leave the likelihood."""
    synthesizer = np.repeat(np.arange(inputs.destination.size), inputs.count)
    origin_tract = inputs.tract_of_block[inputs.worker_origin]
    point = support.coarsening.point_of_tract[inputs.tract[synthesizer], origin_tract]
    kept = point >= 0
    n = np.bincount(synthesizer[kept], minlength=inputs.destination.size)
    synthesizers = Synthesizers(
        tract=inputs.tract,
        destination=inputs.destination,
        segment=inputs.segment,
        worker_ptr=np.concatenate(([0], np.cumsum(n))).astype(np.int64),
        worker_point=point[kept],
        min_prior_weight=min_weight,
        published_count=inputs.count,
    )
    return synthesizers, _share_edited_out(inputs, support, synthesizer, point)


def _share_edited_out(
    inputs: Inputs, support: Support, synthesizer: Ints, point: npt.NDArray[np.int32]
) -> float:
    start = support.coarsening.support_ptr[inputs.tract[synthesizer]]
    in_remainder = support.coarsening.support_level[start + np.maximum(point, 0)] == LEVEL_REMAINDER
    return float(np.mean((point < 0) | in_remainder))


def _outcome(
    release: Path, certificate: dict[str, Any], inputs: Inputs, support: Support, edited_out: float
) -> Outcome:
    n_support = support.coarsening.n_support
    return Outcome(
        release=release,
        certificate=certificate,
        n_workers=int(inputs.count.sum()),
        n_synthesizers=inputs.destination.size,
        n_destination_tracts=inputs.destination_tract.size,
        n_support=(int(n_support.min()), float(n_support.mean()), int(n_support.max())),
        share_edited_out=edited_out,
    )
