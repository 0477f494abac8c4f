"""The states as *elsewhere* units: where homes outside the imported area are counted.

Centres and populations are approximate (2010 centres of population to about 0.1 degree, 2010 census counts to
the nearest thousand). They serve only the distance from elsewhere and the gravity prior; no map shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

_ROWS = """
01 AL Alabama|-86.77 33.00 4780
02 AK Alaska|-148.81 61.37 710
04 AZ Arizona|-111.87 33.37 6392
05 AR Arkansas|-92.58 35.14 2916
06 CA California|-119.33 35.46 37254
08 CO Colorado|-105.20 39.51 5029
09 CT Connecticut|-72.87 41.50 3574
10 DE Delaware|-75.56 39.36 898
11 DC District of Columbia|-77.01 38.91 602
12 FL Florida|-81.64 27.82 18801
13 GA Georgia|-83.83 33.38 9688
15 HI Hawaii|-157.52 21.15 1360
16 ID Idaho|-115.13 44.24 1568
17 IL Illinois|-88.39 41.29 12831
18 IN Indiana|-86.27 40.16 6484
19 IA Iowa|-93.05 41.95 3046
20 KS Kansas|-96.54 38.47 2853
21 KY Kentucky|-85.29 37.81 4339
22 LA Louisiana|-91.44 30.72 4533
23 ME Maine|-69.72 44.31 1328
24 MD Maryland|-76.80 39.14 5774
25 MA Massachusetts|-71.36 42.27 6548
26 MI Michigan|-84.20 42.87 9884
27 MN Minnesota|-93.57 45.20 5304
28 MS Mississippi|-89.59 32.59 2967
29 MO Missouri|-92.15 38.44 5989
30 MT Montana|-111.21 46.81 989
31 NE Nebraska|-97.40 41.17 1826
32 NV Nevada|-116.27 37.17 2701
33 NH New Hampshire|-71.46 43.15 1316
34 NJ New Jersey|-74.43 40.43 8792
35 NM New Mexico|-106.34 34.63 2059
36 NY New York|-74.65 41.50 19378
37 NC North Carolina|-79.67 35.56 9535
38 ND North Dakota|-99.34 47.38 673
39 OH Ohio|-82.75 40.45 11537
40 OK Oklahoma|-96.83 35.60 3751
41 OR Oregon|-122.58 44.73 3831
42 PA Pennsylvania|-77.08 40.46 12702
44 RI Rhode Island|-71.45 41.75 1053
45 SC South Carolina|-81.01 34.03 4625
46 SD South Dakota|-99.04 44.05 814
47 TN Tennessee|-86.34 35.81 6346
48 TX Texas|-97.37 30.91 25146
49 UT Utah|-111.90 40.44 2764
50 VT Vermont|-72.81 44.08 626
51 VA Virginia|-77.84 37.81 8001
53 WA Washington|-121.62 47.34 6725
54 WV West Virginia|-80.82 38.79 1853
55 WI Wisconsin|-89.00 43.73 5687
56 WY Wyoming|-107.01 42.68 564
60 AS American Samoa|-170.70 -14.30 56
66 GU Guam|144.79 13.47 159
69 MP Northern Mariana Islands|145.73 15.18 54
72 PR Puerto Rico|-66.28 18.27 3726
78 VI U.S. Virgin Islands|-64.83 18.13 106
"""


@dataclass(frozen=True, slots=True)
class State:
    """One state or equivalent.

    Attributes
    ----------
    state_id : str
        Two-digit FIPS code.
    postal : str
        Postal code, such as RI.
    name : str
        As the Census Bureau spells it.
    lon_deg, lat_deg : float
        Approximate centre of population, EPSG:4326.
    population : int
        2010, approximate.
    """

    state_id: str
    postal: str
    name: str
    lon_deg: float
    lat_deg: float
    population: int


DIVISIONS: Final[tuple[tuple[str, str], ...]] = (
    ("New England", "09 23 25 33 44 50"),
    ("Middle Atlantic", "34 36 42"),
    ("East North Central", "17 18 26 39 55"),
    ("West North Central", "19 20 27 29 31 38 46"),
    ("South Atlantic", "10 11 12 13 24 37 45 51 54"),
    ("East South Central", "01 21 28 47"),
    ("West South Central", "05 22 40 48"),
    ("Mountain", "04 08 16 30 32 35 49 56"),
    ("Pacific", "02 06 15 41 53"),
)
"""The nine divisions of the Census Bureau, and the FIPS codes of their states."""

UNKNOWN_HOME: Final = "99"
"""Code of the elsewhere unit of workers whose home is not known. Only datasets of worker records have it."""
UNKNOWN_HOME_NAME: Final = "Home unknown"
UNKNOWN_HOME_DEG: Final = (0.0, 0.0)
"""Its longitude and latitude: in the ocean, so that it is far from every workplace."""

TERRITORIES: Final = len(DIVISIONS)
"""The division number of Puerto Rico and the island areas, and of any code that is in no division."""


_UNKNOWN_HOMES: Final = TERRITORIES + 1


def division_numbers(state_ids: Iterable[str]) -> npt.NDArray[np.int32]:
    """Number of the census division of each state: its place in `DIVISIONS`, else `TERRITORIES`.

    Unknown homes have a number of their own, so that they are pooled with no state.
    """
    known = {code: number for number, (_, codes) in enumerate(DIVISIONS) for code in codes.split()}
    known[UNKNOWN_HOME] = _UNKNOWN_HOMES
    return np.array([known.get(code, TERRITORIES) for code in state_ids], dtype=np.int32)


def division_name(number: int) -> str:
    """Name of a division by its number."""
    if number == _UNKNOWN_HOMES:
        return UNKNOWN_HOME_NAME
    return DIVISIONS[number][0] if number < TERRITORIES else "Puerto Rico, island areas and others"


@cache
def states() -> Mapping[str, State]:
    """All states, the District of Columbia, Puerto Rico and the island areas, by FIPS code."""
    result = {}
    for row in _ROWS.strip().splitlines():
        head, place = row.split("|")
        state_id, postal, name = head.split(" ", 2)
        lon, lat, thousands = place.split()
        result[state_id] = State(state_id, postal, name, float(lon), float(lat), int(thousands) * 1000)
    return MappingProxyType(result)


def state_of_postal(postal: str) -> State | None:
    """Return the state with a postal code in any case; None if there is none."""
    return next((state for state in states().values() if state.postal == postal.upper()), None)


def postal_code(state_id: str) -> str:
    """Postal code of a state in capitals, or its own code if the census does not list it."""
    known = states().get(state_id)
    return known.postal if known else state_id


def postal_in_file_names(state_id: str) -> str:
    """Postal code of a state as names of files have it, or STATE if the census does not list it."""
    known = states().get(state_id)
    return known.postal.lower() if known else "STATE"


def state_name(state_id: str) -> str:
    """Name of a state, or its own code if the census does not list it."""
    known = states().get(state_id)
    return known.name if known else state_id
