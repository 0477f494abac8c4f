"""Parameters of a release: the privacy promise and the shape of the synthesizers.

Both types are frozen and refuse impossible values on construction, so later code need not check them again. The
privacy numbers are exact fractions, because a certificate and a ledger add them up: `4.6` is 23/5, not the nearest
binary number.
"""

import math
import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from engine.errors import ParameterError

__all__ = [
    "LARGEST_EPSILON",
    "Accountant",
    "Editing",
    "Mechanism",
    "Number",
    "Placement",
    "Prior",
    "PrivacyParameters",
    "SynthesisParameters",
    "Unit",
    "exact_fraction",
]

Accountant = Literal["sound", "paper"]
Editing = Literal["pool", "none", "drop"]
Prior = Literal["gravity", "flows", "uniform"]
Placement = Literal["population", "representative"]
Mechanism = Literal["exponential", "dirichlet-multinomial"]
Unit = Literal["cell", "block", "tract"]

_USUAL_MECHANISM: Final = "dirichlet-multinomial"

Number: TypeAlias = Fraction | str | int | float
"""Types in which an exact number may be given; a float means the decimal text that it prints."""

LARGEST_EPSILON = 100
"""Above this, e^epsilon would be no meaningful promise. The limit also keeps every exponential far from overflow."""

_MAX_DECIMAL_EXPONENT = 300
"""Numbers with larger exponents are mistakes, and their exact fractions would fill the memory."""


def exact_fraction(value: Number, name: str) -> Fraction:
    """Read a number exactly, by its decimal text.

    Parameters
    ----------
    value : Fraction, str, int or float
        ``"4.6"``, ``"23/5"``, ``4.6`` and ``Fraction(23, 5)`` are the same number.
    name : str
        What the number is, for the error.

    Returns
    -------
    Fraction
        The exact value.

    Raises
    ------
    ParameterError
        The value is not a finite number.
    """
    refusal = f"{name} is {value!r}; a finite number is needed, such as 4.6, '1e-6', or '23/5'"
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool):
        raise ParameterError(refusal)
    if isinstance(value, float):
        text = float.__repr__(float(value))  # NumPy's own floats print their type as well
    elif isinstance(value, str):
        text = value.strip()
    else:
        try:
            return Fraction(operator.index(value))
        except TypeError:
            raise ParameterError(refusal) from None
    try:
        numerator, slash, denominator = text.partition("/")
        if slash:
            return Fraction(int(numerator), int(denominator))
        decimal = Decimal(text)
    except (InvalidOperation, ValueError, ZeroDivisionError):
        raise ParameterError(refusal) from None
    if not decimal.is_finite() or (decimal and abs(decimal.adjusted()) > _MAX_DECIMAL_EXPONENT):
        raise ParameterError(refusal)
    return Fraction(decimal)


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class PrivacyParameters:
    """The promise a release is to keep.

    Parameters
    ----------
    epsilon : Fraction, str, int or float
        Bound on the log likelihood ratio of neighboring tables, 0 < epsilon ≤ 100. The paper accountant
        adds the cost of pruning to it; for the sound accountant it is epsilon_final, the whole promise.
    delta : Fraction, str, int or float
        Probability that the bound may fail, 0 < delta < 1.
    min_retention : Fraction, str, int or float, optional
        Least probability of keeping a support point without workers, 0 < min_retention ≤ 1; 1 (the
        default) prunes nothing and costs nothing.
    accountant : {"paper", "sound"}, optional
        Which proof certifies the prior weights, and so what `epsilon` means. The default here remains "paper", so that
        the meaning of epsilon never changes without a request; the commands use "sound".

    Raises
    ------
    ParameterError
        A value is outside its range.

    Notes
    -----
    The fields hold exact :class:`fractions.Fraction` values whatever they were given as.

    Source: P08 Definition 6 (epsilon, delta), Algorithm 2 and Theorem 5.2 (min_retention); docs/theory/method.md,
    section 5.
    """

    epsilon: Fraction
    delta: Fraction
    min_retention: Fraction
    accountant: Accountant

    def __init__(
        self,
        *,
        epsilon: Number,
        delta: Number,
        min_retention: Number = 1,
        accountant: Accountant = "paper",
    ) -> None:
        # Written out so that callers may pass text or floats while readers always get fractions.
        put = object.__setattr__
        put(self, "epsilon", exact_fraction(epsilon, "epsilon"))
        put(self, "delta", exact_fraction(delta, "delta"))
        put(self, "min_retention", exact_fraction(min_retention, "min_retention"))
        put(self, "accountant", accountant)
        self.__post_init__()

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"epsilon is {_show_fraction(self.epsilon)}; it must be above 0 and at most {LARGEST_EPSILON}: "
                "0 would allow no data in the release, more would promise nothing; OnTheMap used 4.6"
            )
        if not 0 < self.delta < 1:
            raise ParameterError(
                f"delta is {_show_fraction(self.delta)}; it is a probability of failure and must be strictly "
                "between 0 and 1; OnTheMap used 1e-6"
            )
        if not 0 < self.min_retention <= 1:
            raise ParameterError(
                f"min_retention is {_show_fraction(self.min_retention)}; it must be above 0 and at most 1: "
                "with 0, a point would be kept only if a worker lives there, which would reveal that worker, and the "
                "cost ln(1/min_retention) would be infinite; use 1 to prune nothing"
            )
        _require_choice("accountant", self.accountant, get_args(Accountant))

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON or TOML; fractions as exact text (``"23/5"``)."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "min_retention": str(self.min_retention),
            "accountant": self.accountant,
        }

    def stated(self, mechanism: Mechanism) -> dict[str, object]:
        """The same values, without those that a mechanism does not use: what certificates and files of settings say."""
        values = self.to_dict()
        return {"epsilon": values["epsilon"]} if mechanism == "exponential" else values

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Make the parameters from :meth:`to_dict`'s values, or from a TOML table.

        Raises
        ------
        ParameterError
            A name is unknown, one of epsilon and delta is missing, or a value is outside its range.
        """
        _require_known(values, cls)
        missing = [name for name in ("epsilon", "delta") if name not in values]
        if missing:
            raise ParameterError(
                f"{missing[0]} is missing; give it, for example {missing[0]} = 4.6 or '1e-6'"
            )
        unchecked: Mapping[str, Any] = values
        return cls(**unchecked)


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisParameters:
    """Shape of the synthesizers. All parameters are public; none depends on confidential data.

    Parameters
    ----------
    q50_mi, q90_mi : float, optional
        Percentiles of a public commute distance distribution, in miles: tracts nearer than `q50_mi` stay
        tracts, further than `q90_mi` become SuperPUMAs, PUMAs between. The defaults are the published
        Minnesota figures.
    q75_mi : float or None, optional
        The 75th percentile in miles; only the gravity prior is fitted to it.
    editing : {"pool", "none", "drop"}, optional
        What happens to support points to which the public prior gives no mass. `drop` needs `replication`.
    elimination : tuple of (float, float), optional
        (beyond this distance in miles, eliminate with this probability), furthest first.
    prior : {"gravity", "flows", "uniform"}, optional
        Where the prior share of a support point comes from.
    strength : float, optional
        alpha_i = max(min_alpha, strength × prior share_i). With the default 1 the public prior weighs as much as one
        worker: enough to separate likely commutes from unlikely ones if a destination has few workers, and negligible
        compared with the real counts if it has many.
    retention_scale : float, optional
        f_i = clip(scale × prior share_i, min_retention, 1); about the number of likely support points kept
        beside those that hold workers.
    placement : {"population", "representative"}, optional
        How a support point becomes a block.
    tract_radius_mi, puma_radius_mi : float or None, optional
        Coarsening radii in miles, if they are not the percentiles: given together, 0 ≤ tract_radius_mi ≤
        puma_radius_mi. Then `q50_mi` and `q90_mi` only describe commutes, and the gravity prior is fitted to them. A
        radius of 12,500 miles covers the whole earth.
    far_state_miles : float or None, optional
        States outside the imported area whose center is at least this many miles from the workplace tract's are pooled
        by census division; nearer ones stay support points of their own. Above 0. None, the default, pools no state.
    replication : bool, optional
        Allow steps of the 2010 release that no proof covers; the result is then stamped "not for release".
    mechanism : str, optional
        "exponential" or "dirichlet-multinomial": how synthetic workers are drawn. `strength` and `retention_scale`
        apply only to "dirichlet-multinomial".
    unit : {"cell", "block", "tract"}, optional
        Workers whom the exponential mechanism draws together: those of a block and segment, a block, or a workplace
        tract. Larger units keep more of what is small, but lose which home goes with which segment.
    clean : bool, optional
        Take the expected noise of the exponential mechanism out of each tract's commute ranges after the draw.
    cascade : bool, optional
        Draw units in tiers, small ones over clusters of support points that the released labels of larger ones suggest.
        For the exponential mechanism with units of cells or blocks, without editing and cleaning.

    Raises
    ------
    ParameterError
        A value is outside its range, `editing` is ``"drop"`` without `replication`, or `replication` is combined with
        a mechanism other than that of the 2010 release.

    Notes
    -----
    Source: P10 "Coarsening Steps", "Editing the Prior Domain", "Informative Priors"; P08 §VI (the default
    percentiles).
    """

    q50_mi: float = 6.23
    q90_mi: float = 21.54
    q75_mi: float | None = 13.1
    editing: Editing = "pool"
    elimination: tuple[tuple[float, float], ...] = ((500.0, 0.98), (200.0, 0.9), (100.0, 0.5))
    prior: Prior = "gravity"
    strength: float = 1.0
    retention_scale: float = 10.0
    placement: Placement = "population"
    tract_radius_mi: float | None = None
    puma_radius_mi: float | None = None
    far_state_miles: float | None = None
    replication: bool = False
    mechanism: Mechanism = _USUAL_MECHANISM
    unit: Unit = "cell"
    clean: bool = False
    cascade: bool = False

    def __post_init__(self) -> None:
        _require_choice("mechanism", self.mechanism, get_args(Mechanism))
        _require_choice("unit", self.unit, get_args(Unit))
        if self.unit != "cell" and self.mechanism != "exponential":
            raise ParameterError(
                f"unit is {self.unit!r} and mechanism {self.mechanism!r}; only the exponential mechanism draws larger "
                "units than a cell: leave the unit out"
            )
        if not isinstance(self.clean, bool):
            raise ParameterError(f"clean is {self.clean!r}; true or false is needed")
        if self.clean and self.mechanism != "exponential":
            raise ParameterError(
                f"clean is true and mechanism is {self.mechanism!r}; the noise to take out is known for the "
                "exponential mechanism only: leave clean out"
            )
        self._check_cascade()
        self._check_percentiles()
        self._check_radii()
        self._check_far_states()
        self._check_elimination()
        _require_choice("editing", self.editing, get_args(Editing))
        _require_choice("prior", self.prior, get_args(Prior))
        _require_choice("placement", self.placement, get_args(Placement))
        _require_number("strength", self.strength, "0 or more; 0 uses the least weight everywhere", least=0.0)
        _require_number(
            "retention_scale", self.retention_scale, "0 or more; 0 keeps all by min_retention", least=0.0
        )
        if not isinstance(self.replication, bool):
            raise ParameterError(f"replication is {self.replication!r}; true or false is needed")
        if self.mechanism != _USUAL_MECHANISM and (self.replication or self.editing == "drop"):
            given = "replication is true" if self.replication else "editing is 'drop'"
            raise ParameterError(
                f"mechanism is {self.mechanism!r} and {given}; only the dirichlet-multinomial repeats what the 2010 "
                "release did: leave the other out"
            )
        if self.editing == "drop" and not self.replication:
            raise ParameterError(
                "editing is 'drop'; it removes confidential workers, so tables that differ in one worker can "
                "differ in size, which the proof does not cover; use 'pool', or replication = true to repeat "
                "the 2010 release, marked not for release"
            )

    def _check_cascade(self) -> None:
        if not isinstance(self.cascade, bool):
            raise ParameterError(f"cascade is {self.cascade!r}; true or false is needed")
        if not self.cascade:
            return
        for name, value, good, remedy in (
            (
                "mechanism",
                self.mechanism,
                self.mechanism == "exponential",
                "draw with the exponential mechanism",
            ),
            ("unit", self.unit, self.unit != "tract", "use unit cell or block"),
            ("clean", self.clean, not self.clean, "leave clean out"),
            ("editing", self.editing, self.editing == "none", "use editing none"),
        ):
            if not good:
                raise ParameterError(
                    f"cascade is true and {name} is {value!r}; the cascade is not defined for it: {remedy}, or leave "
                    "the cascade out"
                )

    def _check_percentiles(self) -> None:
        middle = () if self.q75_mi is None else (("q75_mi", self.q75_mi),)
        below, below_name = 0.0, "0"
        for name, value in (("q50_mi", self.q50_mi), *middle, ("q90_mi", self.q90_mi)):
            _require_number(name, value, "a distance in miles")
            if value <= below:
                raise ParameterError(
                    f"{name} is {value!r}; it must be more than {below_name} ({below:g} miles): give the "
                    "percentiles of the commute distances in rising order"
                )
            below, below_name = value, name

    def _check_radii(self) -> None:
        tract, puma = self.tract_radius_mi, self.puma_radius_mi
        if tract is None and puma is None:
            return
        if tract is None or puma is None:
            raise ParameterError(
                f"tract_radius_mi is {tract} and puma_radius_mi is {puma}; give both radii or neither"
            )
        for name, value in (("tract_radius_mi", tract), ("puma_radius_mi", puma)):
            _require_number(name, value, "a distance in miles", least=0.0)
        if tract is not None and puma is not None and puma < tract:
            raise ParameterError(
                f"tract_radius_mi is {tract:g}, puma_radius_mi {puma:g}; tracts are the nearer ones: give a "
                "puma_radius_mi of at least tract_radius_mi"
            )

    def _check_far_states(self) -> None:
        allowed = "a distance in miles above 0, such as 300; leave it out to keep all states apart"
        miles = self.far_state_miles
        if miles is not None:
            _require_number("far_state_miles", miles, allowed)
            if miles <= 0:
                raise ParameterError(f"far_state_miles is {miles!r}; it must be {allowed}")

    def _check_elimination(self) -> None:
        furthest = math.inf
        for step in self.elimination:
            if not isinstance(step, tuple) or len(step) != 2:
                raise ParameterError(f"elimination holds {step!r}; each step is (miles, probability)")
            distance_mi, probability = step
            _require_number("elimination distance", distance_mi, "a distance in miles", least=0.0)
            _require_number("elimination probability", probability, "between 0 and 1", least=0.0)
            if distance_mi >= furthest:
                raise ParameterError(
                    f"elimination distance {distance_mi:g} follows {furthest:g}; list the furthest first"
                )
            if probability > 1:
                raise ParameterError(f"elimination probability is {probability!r}; it must be at most 1")
            furthest = distance_mi

    @property
    def coarsening_radii_mi(self) -> tuple[float, float]:
        """Miles within which origins stay tracts, and beyond which they become SuperPUMAs."""
        if self.tract_radius_mi is None or self.puma_radius_mi is None:
            return self.q50_mi, self.q90_mi
        return self.tract_radius_mi, self.puma_radius_mi

    def not_for_release_reasons(self) -> tuple[str, ...]:
        """Reasons why a release made with these parameters may not be published; empty if it may."""
        reasons = []
        if self.replication:
            reasons.append("replication: repeats the 2010 release, parts of which no proof covers")
        if self.editing == "drop":
            reasons.append("editing 'drop': removes confidential workers, so n differs between neighbors")
        return tuple(reasons)

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON or TOML; a missing `q75_mi` is false (TOML has no null), missing radii are left out.

        The usual mechanism, a missing `far_state_miles`, and `clean` and `cascade` where they are false are left out
        too, so that certificates from before they existed stay the same.
        """
        values: dict[str, object] = {field.name: getattr(self, field.name) for field in fields(self)}
        values["elimination"] = [list(step) for step in self.elimination]
        if self.q75_mi is None:
            values["q75_mi"] = False
        if self.tract_radius_mi is None:
            del values["tract_radius_mi"], values["puma_radius_mi"]
        if self.far_state_miles is None:
            del values["far_state_miles"]
        if self.mechanism == _USUAL_MECHANISM:
            del values["mechanism"]
        if self.mechanism != "exponential":
            del values["unit"]
        for name in ("clean", "cascade"):
            if not values[name]:
                del values[name]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Self:
        """Make the parameters from :meth:`to_dict`'s values, or from a TOML table.

        Raises
        ------
        ParameterError
            A name is unknown or a value is outside its range.
        """
        _require_known(values, cls)
        given: dict[str, Any] = dict(values)
        if given.get("q75_mi") is False:
            given["q75_mi"] = None
        if "elimination" in given:
            given["elimination"] = _as_steps(given["elimination"])
        radii = ("tract_radius_mi", "puma_radius_mi")
        for name in ("q50_mi", "q75_mi", "q90_mi", "strength", "retention_scale", "far_state_miles", *radii):
            if isinstance(given.get(name), int) and not isinstance(given[name], bool):
                given[name] = float(given[name])
        return cls(**given)


def _as_steps(steps: object) -> tuple[object, ...]:
    """Turn the lists of TOML and JSON into tuples; leave anything else for the checks to refuse."""
    if not isinstance(steps, Iterable) or isinstance(steps, str | Mapping):
        raise ParameterError(f"elimination is {steps!r}; a list of [miles, probability] is needed")
    return tuple(tuple(step) if isinstance(step, list) else step for step in steps)


def _show_fraction(value: Fraction) -> str:
    """Show a fraction as a person would type it."""
    return f"{float(value):g}"


def _require_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ParameterError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


def _require_number(name: str, value: object, allowed: str, least: float = -math.inf) -> None:
    """Refuse anything but a finite float or int of at least `least`; bool does not count as a number."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value < least
    ):
        raise ParameterError(f"{name} is {value!r}; it must be {allowed}")


def _require_known(values: Mapping[str, object], cls: type) -> None:
    names = [field.name for field in fields(cls)]
    unknown = [name for name in values if name not in names]
    if unknown:
        raise ParameterError(f"parameter {unknown[0]!r} is unknown; the parameters are {', '.join(names)}")
