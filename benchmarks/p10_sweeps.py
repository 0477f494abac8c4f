"""P10's sweeps and tables again: `python -m benchmarks.p10_sweeps [--data DIR | --dataset DATASET] [--output DIR]`.

On Rhode Island 2019 and on the metro demo: KL divergence against epsilon, min_p and delta (pictures and tables), mass
by commute range, support points, points with positive prior, and KL at the V3 setting under both accountants at one
promise, beside the setting that `--design auto` chooses. docs/replications/onthemap.md says what agrees.

Last year's OnTheMap, P10's prior, is a release of the same year here, made under the test key: Rhode Island has no
survey of flows among its files. The demo has one, generated with its jobs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.commands import commutemap
from benchmarks.replications import (
    datasets,
    line,
    one_synthesizer,
    opened,
    replication_parser,
    save,
    table,
    without_elsewhere,
)
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.validity import (
    SMALL_WORKPLACE,
    MeasuredWorkers,
    cell_shares,
    kl_divergence,
    point_cells,
    weighted_mean,
)
from geodata.store.store import Store
from mapapp.analyst.sweep.picture import sweep_figure
from mapapp.analyst.sweep.sweep import SweptRow, SweptSetting, run_sweep
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.validity import Validity, measure_setting
from mapapp.kinds.base.geography import read_workplaces
from mapapp.kinds.base.inputs import WorkplaceCounts, read_inputs
from mapapp.kinds.release.choose.design_by_validity import design_parameters
from mapapp.kinds.release.choose.public_part import PublicPart, Towns
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.last_release import add_last_release
from mapapp.kinds.release.make.settings import (
    DEFAULT_DELTA,
    DEFAULT_EPSILON,
    DEFAULT_MIN_RETENTION,
    privacy_of,
)
from mapapp.kinds.release.make.support import build_support

SWEEPS = {
    "epsilon": ("2", "4", "4.6", "10", "25"),
    "min-retention": ("0.1", "0.05", "0.025", "0.001"),
    "delta": ("1e-3", "1e-4", "1e-5", "1e-6"),
}
V3 = {"epsilon": DEFAULT_EPSILON, "min-retention": DEFAULT_MIN_RETENTION, "delta": DEFAULT_DELTA}
ACCOUNTANTS = ("paper", "sound")
LEAST = SynthesisParameters(prior="uniform", strength=0.0, retention_scale=0.0)
INFORMATIVE = SynthesisParameters(prior="flows")
ORIENTATION = "RI, MA, CT, one synthesizer"
TITLES = {"ri": "Rhode Island 2019", "metro": "Metro demo"}

P10_RANGES = {  # large state A: posterior, likelihood, prior; all, then small
    "0": (0.07, 0.07, 0.01, 0.30, 0.32, 0.18),
    "(0-1)": (0.15, 0.15, 0.03, 0.13, 0.16, 0.03),
    "[1-4)": (0.23, 0.23, 0.07, 0.25, 0.27, 0.17),
    "[4-10)": (0.26, 0.26, 0.24, 0.28, 0.27, 0.31),
    "[10-25)": (0.28, 0.28, 0.39, 0.21, 0.22, 0.17),
    "[25-100)": (0.14, 0.13, 0.19, 0.18, 0.16, 0.31),
    "[100-500)": (0.03, 0.03, 0.07, 0.04, 0.03, 0.11),
    "[500-high]": (0.02, 0.02, 0.05, 0.01, 0.00, 0.08),
}
SMALLEST = (
    "--only",
    "metro",
    "--size",
    "small",
    "--sweeps",
    "delta",
    "--values",
    "1",
    "--output",
    "{folder}",
)


def promise(accountant: str, changed: Mapping[str, str] | None = None) -> PrivacyParameters:
    """V3's promise with something changed; the sound accountant's is the same whole one."""
    asked = {**V3, **(changed or {})}
    return privacy_of(
        accountant=accountant,
        epsilon=asked["epsilon"],
        delta=asked["delta"],
        min_retention=asked["min-retention"],
    )


def sweep_settings(name: str, values: Iterable[str]) -> list[SweptSetting]:
    """One sweep: both accountants, with the informative prior and with equal weights."""
    return [
        SweptSetting(
            axis_values={name: value, "setting": f"{accountant}, {prior}"},
            epsilon=value if name == "epsilon" else V3["epsilon"],
            privacy=promise(accountant, {name: value}),
            parameters=parameters,
        )
        for value in values
        for prior, parameters in (("informative", INFORMATIVE), ("equal weights", LEAST))
        for accountant in ACCOUNTANTS
    ]


def parameters_of(setting: SweptSetting) -> tuple[PrivacyParameters, SynthesisParameters]:
    assert setting.privacy is not None, setting.refusal
    assert setting.parameters is not None, setting.refusal
    return setting.privacy, setting.parameters


def sweep_tables(short: str, data: AnalystData, sweeps: Mapping[str, Sequence[str]], output: Path) -> None:
    for name, values in sweeps.items():
        settings = sweep_settings(name, values)
        rows = list(run_sweep(data, settings))
        noise = [kl_of_noise(data, *parameters_of(one)) for one in settings]
        print(f"\n{TITLES[short]}: KL against {name}, all / small, and that of noise alone")
        kinds = list(dict.fromkeys(row.axis_values["setting"] for row in rows))
        table(name, "epsilon_final", *kinds, *(f"noise: {kind}" for kind in kinds))
        for value in values:
            at = [number for number, row in enumerate(rows) if row.axis_values[name] == value]
            found = [
                f"{pair(rows[number].values[f'kl_{who}'] for who in ('all', 'small'))}{doubt(rows[number])}"
                for number in at
            ]
            line(
                value,
                f"{rows[at[0]].values['epsilon_final']:.3f}",
                *found,
                *(pair(noise[number]) for number in at),
            )
        title = f"{TITLES[short]}: KL divergence against {name} (P10)"
        stamp = "public data taken for the truth; V3: epsilon 4.6, min-retention 0.025, delta 1e-6"
        figure = sweep_figure([name, "setting"], [row.to_dict() for row in rows], title=title, stamp=stamp)
        save(figure, output / f"p10-{short}-{name}.png")


def pair(values: Iterable[Any]) -> str:
    return " / ".join(f"{value:.4f}" for value in values)


def doubt(row: SweptRow) -> str:
    """A mark where no release would be made."""
    return "" if row.values["refusal"] is None else " *"


def tables(short: str, found: Validity) -> None:
    """Mass by range beside P10's, support points, and points with positive prior."""
    print(f"\n{TITLES[short]}, V3 setting, informative prior, paper accountant: mass by commute range")
    kinds = [f"{name} {who}" for who in ("all", "small") for name in ("posterior", "likelihood", "prior")]
    table("miles", *kinds, *(f"P10: {kind}" for kind in kinds))
    for row in found.tables["ranges"].to_dict("records"):
        ours = [row[kind.replace(" ", "_")] for kind in kinds]
        line(row["range"], *(f"{share:.2f}" for share in (*ours, *P10_RANGES[row["range"]])))
    for name in ("support", "positive_prior"):
        rows = found.tables[name]
        table(*rows.columns)
        for cells in rows.itertuples(index=False):
            line(*(f"{cell:.2f}" if isinstance(cell, float) else cell for cell in cells))
    edited = {who: found.summary[f"edited_out_{who}"] for who in ("all", "small")}
    print(f"\nedited out: {edited['all']:.2%} of the likelihood, {edited['small']:.2%} in small workplaces")


def setting_line(
    who: str, what: str, data: AnalystData, privacy: PrivacyParameters, shape: SynthesisParameters
) -> None:
    found = measure_setting(data, privacy, shape)
    certificate, summary = found.facts["certificate"], found.summary
    near, far = shape.coarsening_radii_mi
    line(
        who,
        what,
        privacy.accountant,
        f"{certificate['epsilon_final']:.3f}",
        f"{near:g} / {far:g}",
        f"{summary['n_support']:.0f}",
        summary["kl_all"],
        summary["kl_small"],
        summary["imse_all"],
        summary["imse_small"],
        *kl_of_noise(data, privacy, shape),
    )


def kl_of_noise(
    data: AnalystData, privacy: PrivacyParameters, shape: SynthesisParameters
) -> tuple[float, float]:
    """KL for all and for small where the likelihood is coarsened as the posterior is: what is left is noise.

    Workers of a remainder count where its tracts lie.
    """
    kl, workers = [], []
    for panel in data.panels():
        inputs, tracts = panel.inputs, data.geography.tracts
        seed, prior = PublicSeed.for_tests(), data.prior(shape)
        support = build_support(seed, tracts, inputs.destination_tract, prior, privacy, shape)
        certified = certify_weights(inputs, support, privacy, shape.mechanism)
        ptr, point_of_tract = support.table.support_ptr, support.point_of_tract
        shares = point_cells(ptr, point_of_tract, panel.cell, tracts.population)
        tract = np.repeat(inputs.tract, inputs.count)
        point = ptr[tract] + point_of_tract[tract, panel.home_tract]
        workers_of = MeasuredWorkers(
            destination_ptr=inputs.destination_ptr,
            class_of=certified.class_of,
            worker_ptr=inputs.worker_ptr,
            worker_point=point,
        )
        cells = cell_shares(
            certified.prior_classes(), workers_of, shares, panel.cell[tract, panel.home_tract]
        )
        of_destination = inputs.worker_ptr[inputs.destination_ptr]
        n = np.diff(of_destination)
        coarse = np.add.reduceat(shares[point], of_destination[:-1], axis=0) / n[:, None]
        kl.append(kl_divergence(coarse, cells.posterior))
        workers.append(n)
    value, n = np.concatenate(kl), np.concatenate(workers)
    return weighted_mean(value, n), weighted_mean(value, n, n <= SMALL_WORKPLACE)


def designed(data: AnalystData, privacy: PrivacyParameters) -> tuple[PrivacyParameters, SynthesisParameters]:
    """What `--design auto` chooses at a promise, looking at every workplace tract."""
    workplaces = read_workplaces(data.store, data.geography, n_batches=1)
    inputs = read_inputs(data.store, data.geography, workplaces, 0)
    public = PublicPart(
        geography=data.geography,
        workplaces=workplaces,
        sample=WorkplaceCounts.of(inputs),
        towns=Towns.of_pumas(data.geography.tracts),
    )
    return design_parameters(public, privacy.epsilon, privacy.delta)[:2]


def populations(short: str, store: Store) -> dict[str, AnalystData]:
    """Everybody; in Rhode Island also the three states alone, as in other people's measurements."""
    if short != "ri":
        return {"everybody, 27 segments": AnalystData(store)}
    return {
        ORIENTATION: without_elsewhere(one_synthesizer(store)),
        "RI, MA, CT, 27 segments": without_elsewhere(store),
        "everybody, 27 segments": AnalystData(store),
    }


def v3_table(short: str, store: Store) -> None:
    """KL at V3's promise: both accountants, equal weights and an informative prior, and the chosen setting."""
    print(f"\n{TITLES[short]}: KL and IMSE at V3's promise")
    table(
        "workers", "setting", "accountant", "epsilon_final", "radii, mi", "support points", "KL all", "KL small",
        "IMSE all", "IMSE small", "noise alone: KL all", "small",
    )  # fmt: skip
    informative = SynthesisParameters(prior="gravity" if store.table("prior").empty else "flows")
    for who, data in populations(short, store).items():
        settings = [("equal weights", LEAST), (f"{informative.prior} prior of strength 1", informative)]
        if who == ORIENTATION:
            settings.insert(0, ("equal weights", replace(LEAST, tract_radius_mi=6.9, puma_radius_mi=22.6)))
        for what, shape in settings:
            for accountant in ACCOUNTANTS:
                setting_line(who, what, data, promise(accountant), shape)
        setting_line(who, "`--design auto`", data, *designed(data, promise("sound")))


def with_prior(short: str, path: Path, place: Path) -> Store:
    """The dataset with last year's release for its prior where it has no flows."""
    store = opened(path)
    if not store.table("prior").empty:
        return store
    release = place / f"{short}.release"
    copy = place / f"{short}.copy"
    copy.mkdir()
    for file in path.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    commutemap("synthesize", copy, release, "--preset", "onthemap-v3", "--test-key")
    return add_last_release(store, release, for_release=False)


def argument_parser() -> argparse.ArgumentParser:
    parser = replication_parser(__doc__)
    parser.add_argument("--sweeps", nargs="+", choices=SWEEPS, default=tuple(SWEEPS))
    parser.add_argument("--values", type=int, help="largest number of values of a sweep")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    options = argument_parser().parse_args(arguments)
    sweeps = {name: SWEEPS[name][: options.values] for name in options.sweeps}
    with datasets(options) as (found, place):
        for short, path in found.items():
            v3_table(short, opened(path))
            data = AnalystData(with_prior(short, path, place))
            tables(short, measure_setting(data, promise("paper"), INFORMATIVE))
            sweep_tables(short, data, sweeps, options.output)


if __name__ == "__main__":
    main()
