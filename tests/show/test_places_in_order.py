"""Places are sorted by longitude and then by latitude, as a sort by two columns sorts them."""

import numpy
from hypothesis import given
from hypothesis import strategies as st

from mapapp.show.content.map_content import in_order

DEGREES = st.floats(-180, 180, width=32).map(lambda degrees: degrees + 0.0)  # without a zero below 0


@given(st.lists(st.tuples(DEGREES, DEGREES)))
def test_places_are_sorted_by_longitude_and_then_by_latitude(places: list[tuple[float, float]]) -> None:
    lon, lat = numpy.array(places, dtype=numpy.float32).reshape(-1, 2).T
    order = numpy.lexsort((lat, lon))
    found = in_order({"lon_deg": lon, "lat_deg": lat})
    assert found["lon_deg"].dtype == numpy.float32
    assert found["lon_deg"].tolist() == lon[order].tolist()
    assert found["lat_deg"].tolist() == lat[order].tolist()
