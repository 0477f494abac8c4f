"""Support points and domain editing on Rhode Island: `python -m benchmarks.domain_editing [--data DIR]`.

Two runs. The first has the gravity prior, which gives every populated place some mass, so that nothing is edited.
The second takes the first release, summed to tract flows, as the public prior of a second import ("last year's
release"), as OnTheMap did from 2003 on: its zeros are what editing works on. Prints support points by level and the
share of confidential workers whose support point was eliminated, which only the analyst may see.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.store import open_store
from mapapp.pipeline.batch import open_source

LEVELS = ("tract", "PUMA", "SuperPUMA", "remainder")


def commutemap(*arguments: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "mapapp.cli", *map(str, arguments), "-q", "--json"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def tract_flows(release: Path, file: Path) -> None:
    """Write a release as CTPP tract-to-tract flows; a home elsewhere gets a tract of zeros in its state."""
    store = open_store(release, "release")
    tract = store.table("blocks", ["tract_id"])["tract_id"].str.ljust(11, "0").to_numpy()
    jobs = store.table("jobs", ["destination_index", "origin_index", "count"])
    flows = jobs.assign(home=tract[jobs["origin_index"]], work=tract[jobs["destination_index"]])
    flows = flows.groupby(["home", "work"], as_index=False)["count"].sum()
    columns = {}
    for name, place in (("Residence", flows["home"]), ("Workplace", flows["work"])):
        columns[f"{name}_State_FIPS_Code"] = place.str[:2]
        columns[f"{name}_County_FIPS_Code"] = place.str[2:5]
        columns[f"{name}_Tract_FIPS_Code"] = place.str[5:]
    pandas.DataFrame(columns | {"EST": flows["count"], "MOE": 0}).to_csv(file, index=False)


def levels(dataset: Path, prior: str) -> str:
    """Mean support points by level under the test key."""
    privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    parameters = SynthesisParameters(prior=prior)  # type: ignore[arg-type]  # one of the literals
    source = open_source(open_store(dataset, "dataset"), PublicSeed.for_tests(), privacy, parameters)
    n_tracts = source.workplaces.tract.size
    support = source.support(source.workplaces.tract)
    mean = np.bincount(support.coarsening.support_level, minlength=4) / n_tracts
    return ", ".join(f"{name} {value:.1f}" for name, value in zip(LEVELS, mean, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[2] / "shared" / "data")
    data = parser.parse_args().data
    if not data.is_dir():
        sys.exit(f"no {data}: name the folder of Census files with --data")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        commutemap("import", place / "first.dataset", "--from", data)
        first = commutemap("synthesize", place / "first.dataset", place / "first.release", "--test-key")
        tract_flows(place / "first.release", place / "flows.csv")
        commutemap("import", place / "second.dataset", "--from", data, "--prior-flows", place / "flows.csv")
        second = commutemap("synthesize", place / "second.dataset", place / "second.release", "--test-key")
        print("| prior | support points: least, mean, greatest | by level (mean) | edited out |")
        print("|---|---|---|---|")
        for name, result, dataset in (("gravity", first, "first"), ("flows", second, "second")):
            n = result["n_support"]
            by_level = levels(place / f"{dataset}.dataset", name)
            row = f"| {name} | {n['least']}, {n['mean']}, {n['greatest']} | {by_level} "
            print(row + f"| {result['confidential']['share_edited_out']:.2%} |")


if __name__ == "__main__":
    main()
