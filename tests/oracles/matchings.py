"""Nabar and Mishra's reduction of tables to flows and of flows to perfect matchings, written out for tiny tables.

Source: their "Sampling Integral Flows", with Theorem 4. Every perfect matching is listed, so a handful of people is
the most that is possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

Node = tuple[str, int]
Edge = tuple[Node, Node]
Data = tuple[int, ...]


class Person(NamedTuple):
    """A person's cell and chance of the value."""

    row: int
    column: int
    rate: Fraction


class Table(NamedTuple):
    """People, the totals, and the values of known cells."""

    people: tuple[Person, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    known: Mapping[tuple[int, int], int]


SOURCE: Node = ("s", 0)
SINK: Node = ("t", 0)


def flow_edges(table: Table, *, repaired: bool) -> list[Edge]:
    """Edges of G, one for each unit of capacity.

    The paper gives people of a known cell no edge from their row. Then no flow reaches them. `repaired` adds it.
    """
    edges: list[Edge] = []
    for row, total in enumerate(table.rows):
        edges += [(SOURCE, ("u", row))] * total
    for number, person in enumerate(table.people):
        cell = (person.row, person.column)
        one: Node = ("x", number)
        column: Node = ("w", person.column)
        if cell not in table.known:
            edges += [(("u", person.row), one), (one, column)]
        else:
            edges += [(("u", person.row), one)] if repaired else []
            edges.append((one, _known(cell)))
    for cell, value in table.known.items():
        edges += [(_known(cell), ("w", cell[1]))] * value
    for place, total in enumerate(table.columns):
        edges += [(("w", place), SINK)] * total
    return edges + [(SINK, SOURCE)] * sum(table.rows)


def _known(cell: tuple[int, int]) -> Node:
    return ("y", 100 * cell[0] + cell[1])


def matchings(table: Table, *, repaired: bool = True) -> Iterator[tuple[Data, Fraction]]:
    """Every perfect matching of the bipartite graph: the data set it stands for, and its weight.

    Edge e of G becomes the vertices h, m and t. Each node has as many copies a as edges leave it; a copy is joined to
    h of the edges that leave and to t of those that arrive. Copies of the source and of known cells are joined to no h.
    """
    edges = flow_edges(table, repaired=repaired)
    copies = [
        ("a", *start, number) for number, (start, _) in enumerate(edges)
    ]  # one copy for each edge that leaves
    neighbors: dict[tuple[object, ...], list[tuple[tuple[object, ...], Fraction]]] = {}
    for number, (start, end) in enumerate(edges):
        weight = Fraction(1), Fraction(1)
        if start[0] == "u" and end[0] == "x":
            rate = table.people[end[1]].rate
            weight = rate, 1 - rate
        neighbors["m", number] = [(("h", number), weight[0]), (("t", number), weight[1])]
    for copy, (node, _) in zip(copies, edges, strict=True):
        left = (
            [] if node[0] in ("s", "y") else [("h", at) for at, edge in enumerate(edges) if edge[0] == node]
        )
        arriving = [("t", at) for at, edge in enumerate(edges) if edge[1] == node]
        neighbors[copy] = [(vertex, Fraction(1)) for vertex in (*left, *arriving)]
    of_person = {edge[1][1]: at for at, edge in enumerate(edges) if edge[0][0] == "u"}
    yield from _perfect(neighbors, of_person, len(table.people))


def _perfect(
    neighbors: dict[tuple[object, ...], list[tuple[tuple[object, ...], Fraction]]],
    of_person: Mapping[int, int],
    n_people: int,
) -> Iterator[tuple[Data, Fraction]]:
    taken: dict[tuple[object, ...], tuple[object, ...]] = {}

    def extend(left: Sequence[tuple[object, ...]], weight: Fraction) -> Iterator[tuple[Data, Fraction]]:
        if not left:
            data = tuple(
                int(person in of_person and taken[("h", of_person[person])][0] == "m")
                for person in range(n_people)
            )
            yield data, weight
            return
        fewest = min(left, key=lambda vertex: sum(one not in taken for one, _ in neighbors[vertex]))
        rest = [vertex for vertex in left if vertex != fewest]
        for one, share in neighbors[fewest]:
            if one not in taken:
                taken[one] = fewest
                yield from extend(rest, weight * share)
                del taken[one]

    yield from extend(list(neighbors), Fraction(1))
