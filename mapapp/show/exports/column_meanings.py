"""What the columns of a publication's own files mean, for its data dictionary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from geodata.store.schema import COMMUTE_EDGES_MI, JOB_LABELS

__all__ = ["codes_in_words", "column_meaning", "table_meaning"]

_TABLES: Final = {
    "blocks": "Blocks, and the units that each belongs to; a home outside the area is in a unit of its state",
    "tracts": "Census tracts with their outlines",
    "pumas": "Public use microdata areas (PUMAs) with their outlines",
    "superpumas": "Larger groups of PUMAs with their outlines",
    "counties": "Counties with their outlines",
    "states": "States with their outlines",
    "cells": "What is nearer to a block's point than to those of other blocks",
    "layers": "Names of further units",
    "jobs": "Numbers of workers by workplace, home, age, earnings, and industry",
    "points": "A place at home and at work for each worker, drawn at random within the block",
    "records": "A row for each synthetic worker; the worker of the same row of points",
    "prior": "Public numbers of workers by pair of tracts that the draw started from",
    "labels": "Groups of home areas that were drawn for the workers of each workplace",
    "water": "Water of the base map",
    "roads": "Main roads of the base map",
    "rails": "Railroads of the base map",
    "landmarks": "Landmarks of the base map",
    "characteristics": "Published counts of jobs by block",
    "characteristic_counts": "Published counts of jobs by block, above zero",
}
_COLUMNS: Final = {
    "block_id": "Code of the block",
    "tract_id": "Code of the tract",
    "puma_id": "Code of the PUMA",
    "superpuma_id": "Code of the group of PUMAs",
    "county_id": "Code of the county",
    "state_id": "Code of the state",
    "tract_index": "Row of tracts, from 0",
    "puma_index": "Row of pumas, from 0",
    "superpuma_index": "Row of superpumas, from 0",
    "block_index": "Row of blocks, from 0",
    "destination_index": "Row of blocks, from 0: the workplace",
    "origin_index": "Row of blocks, from 0: the home",
    "destination_tract_index": "Row of tracts, from 0: the workplace",
    "origin_tract_index": "Row of tracts, from 0: the home",
    "lon_deg": "Longitude, degrees (WGS 84)",
    "lat_deg": "Latitude, degrees (WGS 84)",
    "home_lon_deg": "Longitude of the home, degrees; missing outside the area",
    "home_lat_deg": "Latitude of the home, degrees; missing outside the area",
    "work_lon_deg": "Longitude of the workplace, degrees",
    "work_lat_deg": "Latitude of the workplace, degrees",
    "population": "Residents, from public sources",
    "elsewhere": "Whether this is a unit outside the area",
    "derived": "Whether the outline was made from blocks instead of taken from a published boundary",
    "geometry": "Outline or line, longitude and latitude in degrees (WGS 84), as well-known binary",
    "name": "Name",
    "layer": "Key of the layer",
    "unit_id": "Code of the unit",
    "weight": "Workers in the public table of flows",
    "count": "Number of workers",
    "cluster": "Number of the drawn group, from 0",
    "segment": "Age, earnings, and industry together, from 0",
    "kind": "Kind",
    "rank": "1 primary, 2 secondary",
    "end": "Which end of the commute the count is of",
    "code": "Position of the count's column in the publisher's file, from 0",
}


def table_meaning(name: str) -> str:
    """What the rows of a file are; its name if nothing else is known."""
    return _TABLES.get(name, name)


def codes_in_words(title: str, labels: Sequence[str], first: int) -> str:
    """The title of an attribute with its stored values, which begin at `first`, and what they mean."""
    return f"{title}: {'; '.join(f'{code} {label}' for code, label in enumerate(labels, first))}"


def column_meaning(table: str, column: str, titles: Mapping[str, str]) -> str:
    """What a column holds.

    Parameters
    ----------
    table, column : str
    titles : mapping of str to str
        Meanings of columns that differ between publications: layers of units, and attributes.
    """
    if column in titles:
        return titles[column]
    if column in JOB_LABELS:
        return codes_in_words(column.capitalize(), JOB_LABELS[column], 1)
    if column == "distance_band":
        return f"Distance of the commute: number of the edges {', '.join(map(str, COMMUTE_EDGES_MI))} miles it passes"
    if table == "characteristics" and column not in _COLUMNS:
        return f"Jobs, as column {column} of the publisher's file"
    return _COLUMNS.get(column, column)
