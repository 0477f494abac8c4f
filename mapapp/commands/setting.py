"""Options that say what a release is to be, shared by `synthesize` and by commands that try settings out."""

from __future__ import annotations

from functools import reduce
from typing import Final

import click

from mapapp.commands.options import STORE, Function

_SETTING: Final = (
    click.option(
        "--epsilon",
        default=None,
        show_default="4.6",
        help="Bound on the log likelihood ratio before pruning, which adds ln(1/min-retention) + ln 2.",
    ),
    click.option(
        "--epsilon-final",
        default=None,
        show_default="what --epsilon comes to",
        help="Instead of --epsilon: the whole promise, pruning included (not with --accountant paper).",
    ),
    click.option(
        "--mechanism",
        type=click.Choice(
            ["dirichlet-multinomial", "accept-reject", "laplace", "sparse-histogram", "plug-in"]
        ),
        default="dirichlet-multinomial",
        show_default=True,
        help="How workers are drawn. accept-reject: outputs far from the data are drawn again. To compare with: "
        "laplace (noise on every support point), sparse-histogram (noise on occupied points, and a threshold), plug-in "
        "(not private). See docs/privacy-promise.md; options that mean nothing to a mechanism are refused.",
    ),
    click.option("--delta", default=None, show_default="1e-6", help="Probability that the bound may fail."),
    click.option(
        "--design",
        type=click.Choice(["auto"]),
        default=None,
        help="Choose radii, retention, strength and prior for this promise: those of least expected divergence, "
        "found from public data alone, so that the choice costs no privacy.",
    ),
    click.option(
        "--min-retention",
        default=None,
        show_default="0.025",
        help="Least probability of keeping an empty support point; 1 prunes nothing.",
    ),
    click.option(
        "--accountant",
        type=click.Choice(["sound", "paper"]),
        default=None,
        show_default="sound",
        help="Which proof certifies the prior weights: sound covers drawing and pruning as one and needs less noise "
        "for the same promise; paper is what the 2010 release used.",
    ),
    click.option(
        "--prior",
        type=click.Choice(["auto", "gravity", "flows", "uniform"]),
        default="auto",
        show_default=True,
        help="Where prior shares come from; auto takes flows where the dataset has them, else gravity.",
    ),
    click.option(
        "--prior-release",
        type=STORE,
        default=None,
        metavar="LAST_RELEASE",
        help="Take the workers of an earlier release as the prior's flows, never a dataset's. The same people may be "
        "in both, so their promises add up.",
    ),
    click.option(
        "--strength",
        type=float,
        default=None,
        help="Prior workers spread over the support points by prior share.",
    ),
    click.option(
        "--editing",
        type=click.Choice(["pool", "none", "drop"]),
        default="pool",
        show_default=True,
        help="What happens to support points without prior mass; drop needs --replication and --accountant paper.",
    ),
    click.option(
        "--q50",
        "q50_mi",
        type=float,
        default=None,
        help="Median commute in miles: origins within it stay tracts, and the gravity prior is fitted to it.",
    ),
    click.option(
        "--q90",
        "q90_mi",
        type=float,
        default=None,
        help="90th percentile of commutes in miles: origins beyond it become SuperPUMAs, and the prior is fitted to "
        "it.",
    ),
    click.option(
        "--tract-radius",
        "tract_radius_mi",
        type=float,
        default=None,
        show_default="--q50",
        help="Miles within which origins stay tracts, where that is not the median commute; needs --puma-radius.",
    ),
    click.option(
        "--puma-radius",
        "puma_radius_mi",
        type=float,
        default=None,
        show_default="--q90",
        help="Miles beyond which origins become SuperPUMAs; needs --tract-radius.",
    ),
    click.option(
        "--retention-scale",
        type=float,
        default=None,
        help="Retention probability is this times the prior share, at least --min-retention.",
    ),
    click.option(
        "--placement",
        type=click.Choice(["population", "representative"]),
        default="population",
        show_default=True,
        help="How a support point becomes a home block.",
    ),
    click.option(
        "--replication",
        is_flag=True,
        help="Allow what the 2010 release did without proof; stamped not for release.",
    ),
)


def setting_options(function: Function) -> Function:
    """Add every option that makes up a setting; :func:`mapapp.publishing.settings.parameters_of` reads them."""
    return reduce(lambda inner, option: option(inner), reversed(_SETTING), function)
