"""Contrast of what a map draws with what it is drawn on, light and dark (WCAG 2.2, 1.4.11: 3 to 1 for graphics)."""

from __future__ import annotations

import itertools

import pytest

from mapapp.show.content import flow_shapes, palette
from mapapp.show.content.palette import ColorScheme, blend_colors

NON_TEXT = 3.0
TEXT = 4.5
BARELY_SEEN = 1.1
QUIET = 1.3  # what lies below an answer contrasts less with land


def lightness(color: str) -> float:
    """Relative luminance of a `#rrggbb` color, as WCAG defines it."""
    red, green, blue = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [
        (part / 12.92) if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colors, 1 to 21."""
    low, high = sorted((lightness(one), lightness(other)))
    return (high + 0.05) / (low + 0.05)


def grounds(scheme: ColorScheme) -> tuple[str, ...]:
    return scheme.land, scheme.populated, scheme.crowded, scheme.water, scheme.outside


def fills(scheme: ColorScheme) -> tuple[str, ...]:
    return *scheme.ramp, *scheme.fewer, scheme.same, *scheme.more


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> ColorScheme:
    return palette.COLOR_SCHEMES[request.param]


def flow_contrast(scheme: ColorScheme, ground: str, share: float, n_flows: int) -> float:
    """Contrast with the ground of a flow that is a share of the largest one."""
    strength = float(flow_shapes.flow_strengths(share * 1e6, 1_000_000, n_flows))
    color = blend_colors(scheme.faint_line, scheme.line, strength)
    return contrast(blend_colors(ground, color, float(flow_shapes.flow_opacity(strength))), ground)


@pytest.mark.parametrize(("n_flows", "share"), [(500, 0.25), (100_000, 0.5)])
def test_large_flows_stand_out_from_every_ground(scheme: ColorScheme, n_flows: int, share: float) -> None:
    """Those of a quarter of the largest; of half of it where thousands of flows would cover the map together."""
    for ground in grounds(scheme):
        assert flow_contrast(scheme, ground, share, n_flows) >= NON_TEXT


def test_the_smallest_flows_are_faint_on_purpose_but_not_invisible(scheme: ColorScheme) -> None:
    """Their number is what they show; pointing at one, or the slider, brings it out."""
    for ground, n_flows in itertools.product(grounds(scheme), (1, 100_000)):
        assert BARELY_SEEN <= flow_contrast(scheme, ground, 1e-4, n_flows) < NON_TEXT


def test_hatching_shows_on_every_color(scheme: ColorScheme) -> None:
    """Its line or the stroke beside it stands out from the color, and the two from each other."""
    for color in (scheme.land, *fills(scheme)):
        halo = blend_colors(color, scheme.hatch_halo, palette.HATCH_HALO_OPACITY)
        assert max(contrast(scheme.hatch, color), contrast(halo, color)) >= NON_TEXT
        assert contrast(scheme.hatch, halo) >= NON_TEXT


def test_points_bands_and_circles_stand_out_from_every_ground(scheme: ColorScheme) -> None:
    for color, ground in itertools.product((scheme.home, scheme.work, scheme.stay), grounds(scheme)):
        assert contrast(color, ground) >= NON_TEXT


def test_borders_of_areas_stand_out_from_their_halo(scheme: ColorScheme) -> None:
    """So that they show on any color; from the ground they stand out without it."""
    for color in (scheme.home, scheme.work):
        assert contrast(color, scheme.halo) >= NON_TEXT
        assert all(contrast(color, ground) >= NON_TEXT for ground in grounds(scheme))


def test_names_can_be_read(scheme: ColorScheme) -> None:
    """Names of places have a halo of their own; names of water lie on water."""
    assert contrast(scheme.ink, scheme.halo) >= TEXT
    assert contrast(scheme.water_name, scheme.water) >= TEXT - 0.5, "they are bold"


def oklab(color: str) -> tuple[float, float, float]:
    """Lightness and two axes of color of a `#rrggbb` color in OKLab (Ottosson 2020), in which steps look even."""
    parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def test_steps_of_the_ramp_look_even_and_are_ordered_by_lightness_alone(scheme: ColorScheme) -> None:
    """So readers who see no hue see the same order."""
    light = [oklab(color)[0] for color in scheme.ramp]
    steps = [second - first for first, second in itertools.pairwise(light)]
    assert all(step > 0 for step in steps) or all(step < 0 for step in steps)
    assert max(map(abs, steps)) < 1.1 * min(map(abs, steps))


def test_no_color_of_the_ramp_resembles_water(scheme: ColorScheme) -> None:
    """Water is blue, the ramp is warm: neighbors on its yellow and red side of gray."""
    _, _, blue = oklab(scheme.water)
    assert blue < 0
    water = oklab(scheme.water)
    for color in scheme.ramp:
        red_axis = oklab(color)[1]
        assert red_axis > -0.01
        assert sum((one - other) ** 2 for one, other in zip(oklab(color), water, strict=True)) ** 0.5 > 0.09


def test_populated_land_is_quiet(scheme: ColorScheme) -> None:
    ladder = [contrast(color, scheme.land) for color in (scheme.populated, scheme.crowded)]
    assert 1.05 < ladder[0] < ladder[1] < QUIET


def test_colors_of_change_contrast_more_with_larger_changes(scheme: ColorScheme) -> None:
    land = lightness(scheme.same)
    for side in (scheme.fewer, scheme.more):
        away = [abs(lightness(color) - land) for color in side]
        assert all(low < high for low, high in itertools.pairwise(away))
    for less, more in zip(scheme.fewer, scheme.more, strict=True):
        red_less, blue_less = int(less[1:3], 16), int(less[5:7], 16)
        red_more, blue_more = int(more[1:3], 16), int(more[5:7], 16)
        assert red_less > blue_less, "a decrease is orange"
        assert blue_more > red_more, "an increase is blue"
