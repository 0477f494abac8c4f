"""Rough and smooth lines: natural-looking coasts, rivers, borders, and roads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import shapely

Floats = npt.NDArray[np.float64]


def roughen_line(
    points: Floats, rng: np.random.Generator, *, finest: float, roughness: float, closed: bool = True
) -> Floats:
    """Roughen a line by midpoint displacement until its steps are shorter than `finest`.

    Parameters
    ----------
    points : float64[n, 2]
        Vertices; of a closed line the first is not repeated at the end.
    finest : float
        Length of step, in the units of `points`, at which to stop.
    roughness : float
        Standard deviation of a midpoint's displacement, as a share of its step.
    closed : bool
        Whether the last vertex joins the first.

    Returns
    -------
    float64[m, 2]
        The rough line; every vertex given is still on it.
    """
    line = points
    while True:
        after = np.roll(line, -1, axis=0) if closed else line[1:]
        before = line if closed else line[:-1]
        step = after - before
        length = np.hypot(step[:, 0], step[:, 1])
        if np.median(length) <= finest:
            return line
        across = np.column_stack([-step[:, 1], step[:, 0]])
        # Limited to 2 standard deviations, because a longer spike would cross its neighbors.
        shift = np.clip(rng.normal(0.0, roughness, length.size), -2 * roughness, 2 * roughness)
        middle = before + step / 2 + across * shift[:, None]
        merged = np.empty((line.shape[0] + middle.shape[0], 2))
        merged[0::2] = line
        merged[1::2] = middle
        line = merged


def make_noise(
    at: Floats, rng: np.random.Generator, *, amplitude: float, wavelength: float, octaves: int = 4
) -> Floats:
    """Smooth noise along one dimension: a sum of sines, each octave half as long and half as strong.

    Parameters
    ----------
    at : float64[n]
        Where to evaluate.
    amplitude, wavelength : float
        Of the longest wave, in the units of the result and of `at`.
    """
    total = np.zeros(at.shape)
    for octave in range(octaves):
        phase, stretch = rng.uniform(0.0, 2 * np.pi), rng.uniform(0.8, 1.25)
        total += np.sin(2 * np.pi * at * 2**octave / (wavelength * stretch) + phase) / 2**octave
    return amplitude * total


def meander(
    start: Floats, end: Floats, rng: np.random.Generator, *, sway: float, wavelength: float, step: float
) -> Floats:
    """Return a smooth winding line between two places.

    Parameters
    ----------
    start, end : float64[2]
        Where it begins and ends, exactly.
    sway, wavelength : float
        How far it swings to either side and how long its longest bends are, in plane units.
    step : float
        Distance between its vertices.

    Returns
    -------
    float64[n, 2]
    """
    along = end - start
    length = float(np.hypot(*along))
    at = np.linspace(0.0, length, max(round(length / step), 2) + 1)
    taper = np.clip(np.minimum(at, length - at) / wavelength, 0.0, 1.0)
    shift = taper * make_noise(at, rng, amplitude=sway, wavelength=wavelength)
    across = np.array([-along[1], along[0]]) / length
    line: Floats = start + at[:, None] / length * along + shift[:, None] * across
    return line


def smooth_line(line: Floats, *, rounds: int = 3) -> Floats:
    """Cut the corners of a line, some times over; its ends stay."""
    for _ in range(rounds):
        before, after = line[:-1], line[1:]
        cut = np.empty((2 * len(before), 2))
        cut[0::2] = 0.75 * before + 0.25 * after
        cut[1::2] = 0.25 * before + 0.75 * after
        line = np.vstack([line[:1], cut, line[-1:]])
    return line


def ribbon(line: Floats, half_width: Floats) -> shapely.Geometry:
    """Return the polygon along a line whose width changes: a river.

    Parameters
    ----------
    line : float64[n, 2]
        Middle of the ribbon.
    half_width : float64[n]
        Distance from the middle to either bank, in the units of the line.
    """
    along = np.gradient(line, axis=0)
    along /= np.hypot(along[:, 0], along[:, 1])[:, None]
    across = np.column_stack([-along[:, 1], along[:, 0]]) * half_width[:, None]
    return repair_ring(np.vstack([line + across, (line - across)[::-1]]))


def blob(
    centre: tuple[float, float],
    radii: tuple[float, float],
    rng: np.random.Generator,
    *,
    finest: float,
    roughness: float = 0.2,
) -> shapely.Geometry:
    """Return a rough, roundish polygon: an island.

    Parameters
    ----------
    centre, radii : tuple of float
        Of the ellipse that it follows, in plane units.
    """
    angle = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    reach = rng.uniform(0.72, 1.22, angle.size)
    ring = np.column_stack(
        [centre[0] + radii[0] * reach * np.cos(angle), centre[1] + radii[1] * reach * np.sin(angle)]
    )
    return repair_ring(roughen_line(ring, rng, finest=finest, roughness=roughness))


def repair_ring(ring: Floats) -> shapely.Geometry:
    """Make a valid polygon of a ring that may touch itself; small pieces that break off are dropped."""
    parts = shapely.get_parts(shapely.make_valid(shapely.polygons(ring)))
    return parts[int(np.argmax(shapely.area(parts)))]
