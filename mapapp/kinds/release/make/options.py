"""The options of a release's setting: `synthesize`, `sweep`, `audit --setting`, and Tune are made from this table."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

from engine.parameters import Accountant, Editing, Mechanism, Placement, Prior, Unit
from mapapp.kinds.base.option import Control, Option, list_declared, number_or_none, replace_values

__all__ = [
    "AUTO",
    "DEFAULT_PRESET",
    "PRESETS",
    "RELEASE_OPTIONS",
    "SWEPT",
    "USUAL_MECHANISM",
    "Preset",
    "ReleaseOption",
    "ReleaseOptions",
    "fill_in_preset",
]

Auto = Literal["auto"]
Preset = Literal["recommended", "onthemap-v3"]

AUTO: Final[Auto] = "auto"
"""What `--mechanism` and `--unit` say where `--design auto` is to choose them."""
DEFAULT_PRESET: Final[Preset] = "recommended"
USUAL_MECHANISM: Final[Mechanism] = "dirichlet-multinomial"
_OF_USUAL: Final[tuple[Mechanism, ...]] = (USUAL_MECHANISM,)
_OF_EXPONENTIAL: Final[tuple[Mechanism, ...]] = ("exponential",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOption(Option):
    """An option of a release's setting.

    Attributes
    ----------
    recommended : str, bool, float or None
        Value that the recommended preset gives it.
    mechanisms : tuple of str
        Those that use it; others refuse it.
    is_designed : bool
        Whether `--design auto` chooses it.
    """

    recommended: str | bool | float | None = None
    mechanisms: tuple[Mechanism, ...] = get_args(Mechanism)
    is_designed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseOptions:
    """What was asked for; None where an option is not given."""

    preset: Annotated[
        Preset,
        ReleaseOption(
            help="Values of the options that are not given: recommended is --mechanism exponential --unit cell "
            "--epsilon 6.5 --design auto --most-exposed 0.5 --far-state-miles 300 --clean, with delta 0; onthemap-v3 "
            "is Algorithms 1 and 2 as OnTheMap published them: epsilon 4.6 before pruning and 8.982 in all, delta "
            "1e-6. docs/replications/onthemap.md has the error of both.",
        ),
    ] = DEFAULT_PRESET
    epsilon: Annotated[
        str | None,
        ReleaseOption(
            help="Bound on the log likelihood ratio. The exponential mechanism prunes nothing, so it is the whole "
            "promise; where points are pruned, pruning adds ln(1/min-retention) + ln 2.",
            shown="6.5; with onthemap-v3, 4.6",
            is_swept=True,
            control=Control(
                label="ε (epsilon)",
                stops="0.5 1 1.5 2 3 4 4.6 5 6 6.5 7 8 9 10 12 15 20 25",
            ),
        ),
    ] = None
    epsilon_final: Annotated[
        str | None,
        ReleaseOption(
            help="The whole promise, including pruning; replaces --epsilon (not with --accountant paper).",
            shown="follows from --epsilon",
            recommended="6.5",
            is_swept=True,
        ),
    ] = None
    mechanism: Annotated[
        Mechanism | Auto | None,
        ReleaseOption(
            help="How workers are drawn. exponential makes tables close to the real one more likely, with several "
            "times less error for the same promise; dirichlet-multinomial is Algorithms 1 and 2. With --design auto, "
            "auto compares both at the same epsilon and chooses. See docs/privacy-promise.md; options that a mechanism "
            "does not use are refused.",
            shown=f"exponential; with onthemap-v3, {USUAL_MECHANISM}",
            recommended="exponential",
            is_swept=True,
            control=Control(
                label="Mechanism",
                choices={"exponential": "Exponential", "dirichlet-multinomial": "Dirichlet-multinomial"},
            ),
        ),
    ] = None
    unit: Annotated[
        Unit | Auto | None,
        ReleaseOption(
            help="Which workers the exponential mechanism draws together: those of a workplace block and segment "
            "(cell), of a block, or of a tract; with --design auto, auto chooses. A larger unit has less error at a "
            "small epsilon, but within it homes are assigned to segments, or to blocks, at random.",
            shown="cell",
            recommended="cell",
            mechanisms=_OF_EXPONENTIAL,
            is_swept=True,
            control=Control(
                label="Draw workers together by",
                choices={"cell": "Block and segment", "block": "Block", "tract": "Tract"},
            ),
        ),
    ] = None
    delta: Annotated[
        str | None,
        ReleaseOption(
            help="Probability that the bound may fail.",
            shown="0; with onthemap-v3, 1e-6",
            mechanisms=_OF_USUAL,
            is_swept=True,
            control=Control(
                label="δ (delta)",
                stops="1e-12 1e-11 1e-10 1e-9 1e-8 1e-7 1e-6 1e-5 1e-4 1e-3",
            ),
        ),
    ] = None
    design: Annotated[
        Literal["auto", "none"] | None,
        ReleaseOption(
            help="Choose what is left open: for the exponential mechanism the radii, so that the fewest workers are "
            "expected to be misplaced; for dirichlet-multinomial the radii, retention, strength, and prior with the "
            "least expected divergence. The choice uses only public data, so it costs no privacy.",
            shown="auto; with onthemap-v3, or where radii are given, none",
            recommended="auto",
        ),
    ] = None
    most_exposed: Annotated[
        float | Literal["none"] | None,
        ReleaseOption(
            help="With --design auto, choose among settings that show a worker who is alone in block and segment in "
            "the true home tract with at most this chance, on average and as expected from public data. Where no "
            "setting does, the least exposed one is taken, and the result says so.",
            shown="0.5; with onthemap-v3 or dirichlet-multinomial, none",
            metavar="CHANCE|none",
            read=number_or_none,
            recommended=0.5,
        ),
    ] = None
    min_retention: Annotated[
        str | None,
        ReleaseOption(
            help="Minimum probability of keeping an empty support point; 1 prunes nothing. For mechanisms that prune, "
            "as --preset onthemap-v3.",
            shown="0.025",
            mechanisms=_OF_USUAL,
            is_designed=True,
            is_swept=True,
            control=Control(
                label="Least retention",
                hint="Probability of keeping a support point where nobody lives. Costs ln(1/this).",
                stops="0.001 0.005 0.01 0.025 0.05 0.1 0.2 0.3 0.5 1",
            ),
        ),
    ] = None
    accountant: Annotated[
        Accountant | None,
        ReleaseOption(
            help="Which proof certifies the prior weights: sound covers drawing and pruning together and needs less "
            "noise for the same promise; paper is what the 2010 release used.",
            shown="sound",
            mechanisms=_OF_USUAL,
            is_swept=True,
            control=Control(label="Accountant", choices={"sound": "Sound", "paper": "Paper"}),
        ),
    ] = None
    prior: Annotated[
        Auto | Prior,
        ReleaseOption(
            help="Source of the prior shares; auto uses flows if the dataset has them, else gravity.",
            is_swept=True,
            control=Control(
                label="Prior shares from",
                choices={"gravity": "Gravity", "flows": "Flows", "uniform": "Uniform"},
            ),
        ),
    ] = "auto"
    prior_release: Annotated[
        Path | None,
        ReleaseOption(
            help="Use the workers of an earlier release, never of a dataset, as the prior's flows. The same people may "
            "be in both releases, so their promises add up.",
            metavar="LAST_RELEASE",
        ),
    ] = None
    strength: Annotated[
        float | None,
        ReleaseOption(
            help="Number of prior workers, spread over the support points by prior share.",
            mechanisms=_OF_USUAL,
            is_designed=True,
            is_swept=True,
            control=Control(
                label="Prior strength",
                hint="Number of prior workers, spread by prior share. Every point gets at least its certified weight.",
                stops="0 0.01 0.03 0.1 0.3 1 3 10 30",
            ),
        ),
    ] = None
    editing: Annotated[
        Editing,
        ReleaseOption(
            help="What to do with support points without prior mass; drop needs --replication and --accountant paper.",
            is_swept=True,
            control=Control(
                label="Points without prior mass are",
                choices={"pool": "Pooled", "none": "Kept", "drop": "Dropped"},
            ),
        ),
    ] = "pool"
    q50_mi: Annotated[
        float | None,
        ReleaseOption(
            flag="q50",
            help="Median commute in miles. Closer origins stay tracts, and the gravity prior is fitted to it.",
            is_swept=True,
            control=Control(label="Median commute", unit="mi", stops="2 3 4 5 6.23 8 10 15"),
        ),
    ] = None
    q90_mi: Annotated[
        float | None,
        ReleaseOption(
            flag="q90",
            help="90th percentile of commutes in miles. Farther origins become SuperPUMAs, and the gravity prior is "
            "fitted to it.",
            is_swept=True,
            control=Control(
                label="90th percentile",
                unit="mi",
                stops="10 15 21.54 25 30 40 50 60",
            ),
        ),
    ] = None
    tract_radius_mi: Annotated[
        float | None,
        ReleaseOption(
            flag="tract-radius",
            help="Miles within which origins stay tracts, if different from --q50; needs --puma-radius.",
            shown="chosen by --design auto, else --q50",
            is_designed=True,
            is_swept=True,
            control=Control(
                label="Tracts within",
                unit="mi",
                hint="Origins nearer than this stay tracts.",
                stops="0 1 2 4 6.23 8 10 15 20 25 30 40 60 100 12500",
            ),
        ),
    ] = None
    puma_radius_mi: Annotated[
        float | None,
        ReleaseOption(
            flag="puma-radius",
            help="Miles beyond which origins become SuperPUMAs, if different from --q90; needs --tract-radius.",
            shown="chosen by --design auto, else --q90",
            is_designed=True,
            is_swept=True,
            control=Control(
                label="PUMAs within",
                unit="mi",
                hint="Origins farther than this become SuperPUMAs.",
                stops="4 10 15 21.54 25 30 40 50 60 80 100 150 12500",
            ),
        ),
    ] = None
    far_state_miles: Annotated[
        float | Literal["none"] | None,
        ReleaseOption(
            help="States outside the imported area are support points of their own if their center lies within this "
            "many miles of the workplace tract's; the others are pooled by census division, so that rare long commutes "
            "add less noise. none keeps all states apart.",
            shown="300; with onthemap-v3, none",
            metavar="MILES|none",
            read=number_or_none,
            recommended=300.0,
            is_swept=True,
            control=Control(
                label="Separate states within",
                unit="mi",
                hint="States outside the area that are farther away are pooled by census division. 12,500 mi pools "
                "none.",
                stops="50 100 150 200 300 400 500 750 1000 2000 12500",
            ),
        ),
    ] = None
    clean: Annotated[
        bool | None,
        ReleaseOption(
            help="After --mechanism exponential, take the expected noise out of each tract's commute ranges, so that "
            "long commutes are not overstated. Costs no privacy. Unless this is given, --design auto leaves it out for "
            "--unit block or tract where homes simulated from public data say that it does not pay.",
            shown="clean; with onthemap-v3 or dirichlet-multinomial, no-clean",
            recommended=True,
            mechanisms=_OF_EXPONENTIAL,
            is_swept=True,
            control=Control(
                label="Exponential's commute ranges", choices={"off": "As drawn", "on": "Cleaned of noise"}
            ),
        ),
    ] = None
    cascade: Annotated[
        Literal["on", "off"] | Auto | None,
        ReleaseOption(
            help="on draws the workers of --mechanism exponential in tiers, the largest units first: small units are "
            "drawn over groups of home areas that larger units suggest, and each worker is dealt a place of the drawn "
            "group. Less error at epsilon 4 and below where workplace tracts have hundreds of support points. For "
            "--unit cell or block; needs --editing none, and has no cleaning, chosen radii, or expected errors. auto "
            "draws both for homes simulated from public data, and chooses what misplaces fewer workers.",
            shown="off",
            mechanisms=_OF_EXPONENTIAL,
        ),
    ] = None
    retention_scale: Annotated[
        float | None,
        ReleaseOption(
            help="Retention probability as a multiple of the prior share, at least --min-retention.",
            mechanisms=_OF_USUAL,
            is_designed=True,
            is_swept=True,
            control=Control(label="Retention scale", stops="0 1 3 10 30 100"),
        ),
    ] = None
    placement: Annotated[
        Placement,
        ReleaseOption(help="How to choose a home block within a support point."),
    ] = "population"
    replication: Annotated[
        bool,
        ReleaseOption(
            help="Allow what the 2010 release did without proof; the result is marked not for release.",
            mechanisms=_OF_USUAL,
            control=Control(
                label="Allow what the 2010 release did without proof",
                hint="The release is marked not for release. To drop points, turn this on and use the paper "
                "accountant.",
            ),
        ),
    ] = False


RELEASE_OPTIONS: Final = list_declared(ReleaseOptions, ReleaseOption)
"""By name of the field, in the order of `--help`."""

SWEPT: Final[Mapping[str, ReleaseOption]] = {
    option.flag: option for option in RELEASE_OPTIONS.values() if option.is_swept
}
"""The options that `sweep` can vary, by flag."""

PRESETS: Final[Mapping[Preset, Mapping[str, str | bool | float]]] = {
    "recommended": {
        name: option.recommended for name, option in RELEASE_OPTIONS.items() if option.recommended is not None
    },
    "onthemap-v3": {},
}
"""Options that a preset gives where they are not given; those of `onthemap-v3` are the options' own defaults."""


def fill_in_preset(options: ReleaseOptions) -> ReleaseOptions:
    """The options with those of their preset filled in, and None for the word none; single options win.

    Radii that are given leave nothing to choose, and another mechanism than the preset's has no unit and keeps its own
    settings. A mechanism that is to be chosen takes everything from the preset. Where nothing is to be chosen, there is
    no ceiling on exposure either. The cascade has neither a choice nor cleaning.
    """
    preset = PRESETS[options.preset]
    mechanism = options.mechanism or preset.get("mechanism", USUAL_MECHANISM)
    left: set[str] = set()
    if mechanism not in (AUTO, preset.get("mechanism")):
        left |= {"unit", "design", "most_exposed", "clean"}
    if any(
        getattr(options, name) is not None for name, option in RELEASE_OPTIONS.items() if option.is_designed
    ):
        left |= {"design", "most_exposed"}
    if options.cascade in ("on", AUTO):
        left |= {"design", "most_exposed", "clean"}
    if options.design == "none":
        left.add("most_exposed")
    if options.epsilon is not None:
        left.add("epsilon_final")
    filled: dict[str, object] = {
        name: value for name, value in preset.items() if getattr(options, name) is None and name not in left
    }
    filled |= {
        name: None
        for name in ("design", "most_exposed", "far_state_miles")
        if getattr(options, name) == "none"
    }
    return replace_values(options, {**filled, "mechanism": mechanism})
