"""The validity of synthetic commutes: of a setting before anything is drawn, and of a release that was drawn.

    data = AnalystData.open(dataset_path)                      # once; keeps what no setting changes
    sample = data.sample(30)                                   # positions of evenly spaced destination tracts
    found = measure_setting(data, privacy, parameters, tracts=sample)     # sample: well under a second once warm
    found = measure_setting(data, privacy, parameters, report=report)     # all tracts, part by part
    found = measure_release(data, release_path, report=report)            # closed form and what was drawn

All return a :class:`~mapapp.analyst.validity.result.Validity`: ``found.kl_all``, ``found.summary[name]``,
``found.tables[name]``, ``found.facts``, ``found.to_dict()``. `report(stage, done, total)` is called before every part;
to cancel, raise from it: nothing is written anywhere. A setting that cannot be certified raises EngineError with a line
for the analyst.

CONFIDENTIAL, all of it: keep results out of logs, addresses, files that others read, and every page of `serve`.

`facts`
    `scope`: tracts_measured, tracts, workers_measured, workers (in the dataset), is_sample.
    `parameters`: privacy and synthesis, as in a certificate.
    `certificate`: mechanism, accountant, epsilon_final, delta, delta_bound (the largest), `parts` (list of name and
    value: what epsilon_final is made of), `refusal` (None, or why no release would be made with this setting).

`summary` (mean over destinations weighted by workers; small destinations have 1 to 9; NaN without any)
    kl_all, kl_small: KL divergence between the likelihood and the posterior expectation, nats. The likelihood here is
        that which domain editing left, as in P10; everything else is measured against all workers.
    imse_all, imse_small: integrated mean squared error.
    kept_prior_mass, prior_mass: mean prior workers of a synthesizer, as pruning is expected to leave it, and before.
    prior_worker_share: share of synthetic workers that come from the prior.
    n_support, n_support_kept: mean support points of a destination tract, and as pruning is expected to leave them.
    edited_out_all, edited_out_small: share of the likelihood in points that domain editing eliminated.
    distance_real_mi, distance_expected_mi: mean commute between tract centres.
    Of a release also: kl_drawn_all, kl_drawn_small, imse_drawn_all, imse_drawn_small, moved_all, moved_small (share of
    workers in another cell), infinite_all, infinite_small (share of workers in destinations whose plain drawn KL is
    infinite), lone_in_tract and lone_in_tract_expected (share of lone workers who are shown in their true home tract,
    and what public data let expect). Of a release, and of a setting that was drawn: distance_blocks_real_mi,
    distance_blocks_drawn_mi (between blocks).

`tables`
    destinations: destination_index, block_id, tract_index, n_workers, is_small, kl, imse, and average commutes in miles
        (P08 Figures 1-4): real_mi, expected_mi, real_short_mi, expected_short_mi (commutes below q50_mi; between tract
        centres). Of a release also kl_drawn, imse_drawn, moved, real_block_mi, drawn_block_mi, real_block_short_mi,
        drawn_block_short_mi.
    tracts: position, tract_index, tract_id, n_workers, n_destinations, n_support, n_support_kept, kl, kl_small, imse;
        of a release also kl_drawn, imse_drawn, moved.
    ranges: range, then for each of all and small: posterior, likelihood, prior, prior_kept (P10's last table; `prior`
        before pruning), as `posterior_all` and so on; of a release also drawn_all, drawn_small.
    support: when (before editing, after editing), by (total, level, distance), name, mean, min, max.
    positive_prior: range, before_mean, before_sd, after_mean, after_sd.
    least_alpha: n_workers (of a synthesizer), n_synthesizers, least_alpha_min, least_alpha_mean, least_alpha_max,
        prior_mass, kept_prior_mass, prunes (share that do).
    distances: size (class of destinations by workers), n_destinations, n_workers, and means of the average commutes
        that `destinations` lists, with root mean squared differences expected_error_mi and expected_short_error_mi.
    Of a release, and of a setting that was drawn, also flows, top_areas, in_out: see docs/validity.md.

Closed form exists for the Dirichlet-multinomial. The exponential mechanism is drawn a few times with the published test
key, on the analyst's machine, and `basis` says "simulated".

Source: docs/theory/method.md, section 10; P10 "Analytical Validity Measures"; P08 §VI.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.drawn import DrawnPart, measure_drawn, open_release
from mapapp.analyst.validity.part import SettingPart, measure_part
from mapapp.analyst.validity.prepared_part import prepare_part, prepared_key
from mapapp.analyst.validity.result import Validity
from mapapp.analyst.validity.tables import release_result, setting_result
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.geography import Ints

__all__ = ["AnalystData", "Validity", "measure_release", "measure_setting"]


def measure_setting(
    data: AnalystData,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    tracts: Ints | None = None,
    seed: PublicSeed | None = None,
    draw: bool = False,
    report: Report = silent,
) -> Validity:
    """Certify a setting and measure it on the confidential homes, before anything is released.

    Parameters
    ----------
    data : AnalystData
    privacy, parameters
        The setting, as `synthesize` takes it.
    tracts : int64[T], optional
        Positions of the destination tracts to measure on, such as ``data.sample(30)``; all by default.
    seed : PublicSeed, optional
        Of domain editing; that of tests by default, so that equal settings give equal answers.
    draw : bool
        Whether to draw the setting once with the published test key, for the plain measures.
    report : callable
        Called with (stage, done, total) before every part; what it raises cancels.

    Returns
    -------
    Validity

    Raises
    ------
    EngineError
        The setting cannot be certified.
    """
    data = data.select_drawn_data(parameters)
    prior = data.prior(parameters)
    chosen = PublicSeed.for_tests() if seed is None else seed
    places = data.places if draw else None
    parts: list[SettingPart] = []
    for panel in data.panels(tracts, report):
        prepare = partial(prepare_part, panel, data.geography, prior, chosen, parameters)
        prepared = (
            data.prepared.get_or_make(prepared_key(panel, chosen, parameters), prepare)
            if data.keeps(tracts)
            else prepare()
        )
        parts.append(measure_part(panel, data.geography, prepared, privacy, parameters, places))
    return setting_result(data, privacy, parameters, parts)


def measure_release(
    data: AnalystData, release: Path, *, tracts: Ints | None = None, report: Report = silent
) -> Validity:
    """Measure a release against the dataset it was drawn from: what was to be expected of it, and what was drawn.

    Parameters
    ----------
    data : AnalystData
    release : Path
    tracts : int64[T], optional
        Positions of the destination tracts to measure on; all by default.
    report : callable
        Called with (stage, done, total) before every part; what it raises cancels.

    Returns
    -------
    Validity

    Raises
    ------
    StoreError
        It is no release.
    UsageError
        Its geography or its workplaces are not those of the dataset.
    """
    report("opening the release", 0, 0)
    drawn = open_release(data, release)
    data = data.select_drawn_data(drawn.parameters)
    parts: list[SettingPart] = []
    of_drawn: list[DrawnPart] = []
    for panel in data.panels(tracts, report):
        prepared = prepare_part(panel, data.geography, drawn.prior, drawn.seed, drawn.parameters)
        parts.append(measure_part(panel, data.geography, prepared, drawn.privacy, drawn.parameters))
        of_drawn.append(measure_drawn(panel, data, drawn))
    return release_result(data, drawn, parts, of_drawn)
