"""Where the states are: boxes around each, half a degree wider than its land and waters.

The boxes serve only to refuse places that cannot be in their state. They are rounded outward to half a degree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_MARGIN_DEG = 0.5
_ROWS = """
01 -88.5 30 -84.5 35.5
02 172 51 -129.5 72
04 -115 31 -109 37.5
05 -95 33 -89.5 37
06 -125 32 -114 42.5
08 -109.5 36.5 -102 41.5
09 -74 40.5 -71.5 42.5
10 -76 38 -74.5 40
11 -77.5 38.5 -76.5 39
12 -88 24 -79.5 31.5
13 -86 30 -80.5 35.5
15 -179 18.5 -154.5 29
16 -117.5 41.5 -111 49.5
17 -92 36.5 -87 43
18 -88.5 37.5 -84.5 42
19 -97 40 -90 44
20 -102.5 36.5 -94.5 40.5
21 -90 36 -81.5 39.5
22 -94.5 28.5 -88.5 33.5
23 -71.5 42.5 -66.5 47.5
24 -79.5 37.5 -75 40
25 -74 41 -69.5 43
26 -90.5 41.5 -82 48.5
27 -97.5 43 -89 49.5
28 -92 30 -88 35.5
29 -96 35.5 -89 41
30 -116.5 44 -104 49.5
31 -104.5 39.5 -95 43.5
32 -120.5 35 -114 42.5
33 -73 42.5 -70.5 45.5
34 -76 38.5 -73.5 41.5
35 -109.5 31 -103 37.5
36 -80 40 -71.5 45.5
37 -84.5 33.5 -75 37
38 -104.5 45.5 -96.5 49.5
39 -85 38 -80.5 42.5
40 -103.5 33.5 -94 37.5
41 -125 41.5 -116 46.5
42 -81 39.5 -74.5 42.5
44 -72 41 -71 42.5
45 -83.5 32 -78.5 35.5
46 -104.5 42 -96 46
47 -90.5 34.5 -81.5 37
48 -107 25.5 -93.5 37
49 -114.5 36.5 -109 42.5
50 -73.5 42.5 -71 45.5
51 -84 36.5 -75 39.5
53 -125 45.5 -116.5 49.5
54 -83 37 -77.5 41
55 -93 42 -86 47.5
56 -111.5 40.5 -104 45.5
60 -172 -15.5 -168 -11
66 144 13 145.5 14
69 144.5 13.5 146.5 21
72 -68.5 17.5 -65 19
78 -65.5 17.5 -64.5 18.5
"""


def outside_state(state_id: str, lon_deg: Floats, lat_deg: Floats) -> npt.NDArray[np.bool_]:
    """Which places cannot be in a state, nor within half a degree of it.

    Parameters
    ----------
    state_id : str
        Two-digit FIPS code. Codes of no state, such as those of generated countries, have no box: every place fits.
    lon_deg, lat_deg : float64[N]
        EPSG:4326.

    Returns
    -------
    bool[N]
    """
    row = next((row for row in _ROWS.split("\n") if row.startswith(f"{state_id} ")), None)
    if row is None:
        return np.zeros(np.shape(lon_deg), dtype=bool)
    west, south, east, north = (float(cell) for cell in row.split()[1:])
    east += 360 * (east < west)  # Alaska lies on both sides of the 180th meridian
    lon = (np.asarray(lon_deg) - (west - _MARGIN_DEG)) % 360
    in_lon = lon <= east - west + 2 * _MARGIN_DEG
    lat = np.asarray(lat_deg)
    return ~(in_lon & (lat >= south - _MARGIN_DEG) & (lat <= north + _MARGIN_DEG))
