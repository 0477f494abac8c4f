"""Options that make up a setting, shared by `synthesize` and by commands that try out settings."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final, get_args

import click

from engine.parameters import Mechanism, Unit
from mapapp.base.errors import UsageError
from mapapp.commands.options import STORE, Function, Options, config_option_named
from mapapp.publishing.presets import AUTO, DEFAULT_PRESET, PRESETS, USUAL_MECHANISM


def _number_or_none(what: str) -> Callable[[click.Context, click.Parameter, str | None], float | str | None]:
    """Return a reader of a number, or the word none, that refuses anything else in one line."""

    def read(_context: click.Context, _parameter: click.Parameter, value: str | None) -> float | str | None:
        if value is None or value == "none":
            return value
        try:
            return float(value)
        except ValueError:
            raise click.BadParameter(f"{value!r} is neither {what} nor none.") from None

    return read


_SETTING: Final = (
    click.option(
        "--preset",
        type=click.Choice(list(PRESETS)),
        default=DEFAULT_PRESET,
        show_default=True,
        help="Values of the options that are not given: recommended is --mechanism exponential --unit cell --epsilon "
        "6.5 --design auto --most-exposed 0.5 --far-state-miles 300 --clean, with delta 0; onthemap-v3 is Algorithms 1 "
        "and 2 as OnTheMap published them: epsilon 4.6 before pruning and 8.982 in all, delta 1e-6. "
        "docs/replications/onthemap.md has the error of both.",
    ),
    click.option(
        "--epsilon",
        default=None,
        show_default="6.5; with onthemap-v3, 4.6",
        help="Bound on the log likelihood ratio. The exponential mechanism prunes nothing, so it is the whole promise; "
        "where points are pruned, pruning adds ln(1/min-retention) + ln 2.",
    ),
    click.option(
        "--epsilon-final",
        default=None,
        show_default="follows from --epsilon",
        help="The whole promise, including pruning; replaces --epsilon (not with --accountant paper).",
    ),
    click.option(
        "--mechanism",
        type=click.Choice([*get_args(Mechanism), AUTO]),
        default=None,
        show_default=f"exponential; with onthemap-v3, {USUAL_MECHANISM}",
        help="How workers are drawn. exponential makes tables close to the real one more likely, with several times "
        "less error for the same promise; dirichlet-multinomial is Algorithms 1 and 2. With --design auto, auto "
        "compares both at the same epsilon and chooses. See docs/privacy-promise.md; options that a mechanism does not "
        "use are refused.",
    ),
    click.option(
        "--unit",
        type=click.Choice([*get_args(Unit), AUTO]),
        default=None,
        show_default="cell",
        help="Which workers the exponential mechanism draws together: those of a workplace block and segment (cell), "
        "of a block, or of a tract; with --design auto, auto chooses. A larger unit has less error at a small epsilon, "
        "but within it homes are assigned to segments, or to blocks, at random.",
    ),
    click.option(
        "--delta",
        default=None,
        show_default="0; with onthemap-v3, 1e-6",
        help="Probability that the bound may fail.",
    ),
    click.option(
        "--design",
        type=click.Choice(["auto", "none"]),
        default=None,
        show_default="auto; with onthemap-v3, or where radii are given, none",
        help="Choose what is left open: for the exponential mechanism the radii, so that the fewest workers are "
        "expected to be misplaced; for dirichlet-multinomial the radii, retention, strength, and prior with the least "
        "expected divergence. The choice uses only public data, so it costs no privacy.",
    ),
    click.option(
        "--most-exposed",
        metavar="CHANCE|none",
        callback=_number_or_none("a number"),
        default=None,
        show_default="0.5; with onthemap-v3 or dirichlet-multinomial, none",
        help="With --design auto, choose among settings that show a worker who is alone in block and segment in the "
        "true home tract with at most this chance, on average and as expected from public data. Where no setting does, "
        "the least exposed one is taken, and the result says so.",
    ),
    click.option(
        "--min-retention",
        default=None,
        show_default="0.025",
        help="Minimum probability of keeping an empty support point; 1 prunes nothing. For mechanisms that prune, as "
        "--preset onthemap-v3.",
    ),
    click.option(
        "--accountant",
        type=click.Choice(["sound", "paper"]),
        default=None,
        show_default="sound",
        help="Which proof certifies the prior weights: sound covers drawing and pruning together and needs "
        "less noise for the same promise; paper is what the 2010 release used.",
    ),
    click.option(
        "--prior",
        type=click.Choice(["auto", "gravity", "flows", "uniform"]),
        default="auto",
        show_default=True,
        help="Source of the prior shares; auto uses flows if the dataset has them, else gravity.",
    ),
    click.option(
        "--prior-release",
        type=STORE,
        default=None,
        metavar="LAST_RELEASE",
        help="Use the workers of an earlier release, never of a dataset, as the prior's flows. The same people may be "
        "in both releases, so their promises add up.",
    ),
    click.option(
        "--strength",
        type=float,
        default=None,
        help="Number of prior workers, spread over the support points by prior share.",
    ),
    click.option(
        "--editing",
        type=click.Choice(["pool", "none", "drop"]),
        default="pool",
        show_default=True,
        help="What to do with support points without prior mass; drop needs --replication and --accountant paper.",
    ),
    click.option(
        "--q50",
        "q50_mi",
        type=float,
        default=None,
        help="Median commute in miles. Closer origins stay tracts, and the gravity prior is fitted to it.",
    ),
    click.option(
        "--q90",
        "q90_mi",
        type=float,
        default=None,
        help="90th percentile of commutes in miles. Farther origins become SuperPUMAs, and the gravity prior is "
        "fitted to it.",
    ),
    click.option(
        "--tract-radius",
        "tract_radius_mi",
        type=float,
        default=None,
        show_default="chosen by --design auto, else --q50",
        help="Miles within which origins stay tracts, if different from --q50; needs --puma-radius.",
    ),
    click.option(
        "--puma-radius",
        "puma_radius_mi",
        type=float,
        default=None,
        show_default="chosen by --design auto, else --q90",
        help="Miles beyond which origins become SuperPUMAs, if different from --q90; needs --tract-radius.",
    ),
    click.option(
        "--far-state-miles",
        metavar="MILES|none",
        callback=_number_or_none("a number of miles"),
        default=None,
        show_default="300; with onthemap-v3, none",
        help="States outside the imported area are support points of their own if their center lies within this many "
        "miles of the workplace tract's; the others are pooled by census division, so that rare long commutes add less "
        "noise. none keeps all states apart.",
    ),
    click.option(
        "--clean/--no-clean",
        default=None,
        show_default="clean; with onthemap-v3 or dirichlet-multinomial, no-clean",
        help="After --mechanism exponential, take the expected noise out of each tract's commute ranges, so that long "
        "commutes are not overstated. Costs no privacy. Unless this is given, --design auto leaves it out for --unit "
        "block or tract where homes simulated from public data say that it does not pay.",
    ),
    click.option(
        "--retention-scale",
        type=float,
        default=None,
        help="Retention probability as a multiple of the prior share, at least --min-retention.",
    ),
    click.option(
        "--placement",
        type=click.Choice(["population", "representative"]),
        default="population",
        show_default=True,
        help="How to choose a home block within a support point.",
    ),
    click.option(
        "--replication",
        is_flag=True,
        help="Allow what the 2010 release did without proof; the result is marked not for release.",
    ),
)


def read_setting(spec: str) -> Options:
    """Read what names a whole setting: a preset, or a TOML file of the options of `synthesize`.

    Returns
    -------
    mapping of str to value
        As :func:`mapapp.publishing.settings.parameters_of` takes it.

    Raises
    ------
    UsageError, click.ClickException
        It is neither, or the file has an unknown option or a value that is not allowed.
    """
    if spec in PRESETS:
        arguments = ["--preset", spec]
    elif spec.endswith(".toml"):
        arguments = ["--setting", spec]
    else:
        raise UsageError(
            f"--setting {spec}: neither a preset ({', '.join(PRESETS)}) nor a file that ends in .toml with options of "
            "`synthesize`"
        )
    command = click.Command("synthesize", params=[])
    for add in (config_option_named("--setting"), setting_options):
        command = add(command)
    with command.make_context("synthesize", arguments) as context:
        return dict(context.params)


def setting_options(function: Function) -> Function:
    """Add every option that makes up a setting; :func:`mapapp.publishing.settings.parameters_of` reads them."""
    return reduce(lambda inner, option: option(inner), reversed(_SETTING), function)
