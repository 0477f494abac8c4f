"""Small files of zones and flows: a grid of squares in kilometers, with districts, and trips between them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

WIDE, HIGH = 6, 5
SIDE_DEG = 0.05
WEST_DEG, SOUTH_DEG = 10.0, 51.0  # the middle of Germany: on land

PUBLISHER = "Office of Trips, Trips 2020, https://example.org/trips"


def codes() -> list[str]:
    """Codes with leading zeros, in the order of the file."""
    return [f"0{number:02d}" for number in range(WIDE * HIGH)]


def squares() -> list[dict[str, Any]]:
    """GeoJSON features of the zones, with name, district, and population."""
    features = []
    for number, code in enumerate(codes()):
        x, y = WEST_DEG + SIDE_DEG * (number % WIDE), SOUTH_DEG + SIDE_DEG * (number // WIDE)
        ring = [[x, y], [x + SIDE_DEG, y], [x + SIDE_DEG, y + SIDE_DEG], [x, y + SIDE_DEG], [x, y]]
        about = {
            "zone_code": code,
            "zone_name": f"Zone {number + 1}",
            "district_code": f"D{number % WIDE // 2}",
            "district_name": f"District {'ABC'[number % WIDE // 2]}",
            "population": 1_000 + 10 * number,
        }
        features.append(
            {"type": "Feature", "properties": about, "geometry": {"type": "Polygon", "coordinates": [ring]}}
        )
    return features


def write_polygons(path: Path, features: list[dict[str, Any]] | None = None) -> Path:
    """Write zones as GeoJSON."""
    document = {"type": "FeatureCollection", "features": squares() if features is None else features}
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def write_points(path: Path, *, separator: str = ",", exchanged: bool = False) -> Path:
    """Write the middles of the zones as a table; exchanged coordinates are those of zones in the north of England."""
    rows = [separator.join(("code", "name", "lat", "lon"))]
    for number, code in enumerate(codes()):
        lon, lat = (
            WEST_DEG + SIDE_DEG * (number % WIDE + 0.5),
            SOUTH_DEG + SIDE_DEG * (number // WIDE + 0.5),
        )
        if exchanged:
            lat, lon = lon - 12.0, lat + 3.0
        rows.append(separator.join((code, f"Zone {number + 1}", f"{lat:.4f}", f"{lon:.4f}")))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def counts() -> np.ndarray[Any, np.dtype[np.int64]]:
    """Trips by row of origin and of destination; most go to near zones, some zones have none."""
    rng = np.random.default_rng(7)
    n = WIDE * HIGH
    x, y = np.arange(n) % WIDE, np.arange(n) // WIDE
    away = np.hypot(x[:, None] - x, y[:, None] - y)
    trips = rng.poisson(40.0 * np.exp(-away))
    trips[:, 3] = 0
    return np.asarray(trips, dtype=np.int64)


def pairs() -> list[tuple[str, str, int]]:
    """Origin, destination, and count of every pair with trips."""
    trips, code = counts(), codes()
    return [
        (code[origin], code[destination], int(trips[origin, destination]))
        for origin, destination in np.argwhere(trips).tolist()
    ]


def write_pairs(
    path: Path, rows: list[tuple[str, str, object]] | None = None, *, separator: str = ","
) -> Path:
    """Write flows as a table of pairs."""
    listed = pairs() if rows is None else rows
    lines = [
        separator.join(("origin", "destination", "count")),
        *(separator.join(map(str, row)) for row in listed),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_matrix(path: Path) -> Path:
    """Write flows as a matrix with a row for each origin."""
    code, trips = codes(), counts().tolist()
    lines = [
        ",".join(["from", *code]),
        *(",".join([code[row], *map(str, trips[row])]) for row in range(len(code))),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_trips(path: Path) -> Path:
    """Write flows with a row for each trip."""
    lines = [
        "home,school",
        *(f"{origin},{destination}" for origin, destination, n in pairs() for _ in range(n)),
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
