"""The picture of a sweep: what it shows and where, not how it looks."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.container import ErrorbarContainer

from mapapp.analyst.sweep.picture import V3, picture_bytes, sweep_figure


def row(asked: dict[str, str], kl: float | None, final: float | None = 9.0, **more: Any) -> dict[str, Any]:
    return {"asked": asked, "kl_all": kl, "kl_small": kl and 5 * kl, "epsilon_final": final, **more}


def values(ax: Any) -> list[list[float]]:
    return [line.get_ydata().tolist() for line in ax.lines if len(line.get_xdata()) > 2]


def test_one_line_per_combination_and_a_gap_where_nothing_was_found() -> None:
    rows = [
        row({"epsilon": e, "accountant": a}, None if (e, a) == ("4", "paper") else float(e))
        for e in ("10", "2", "4")
        for a in ("sound", "paper")
    ]
    figure = sweep_figure(["epsilon", "accountant"], rows, title="T", stamp="not for publication")
    left, right = figure.axes
    assert values(left)[0] == [2.0, 4.0, 10.0]
    assert values(left)[1][0] == 2.0
    assert values(left)[1][1] != values(left)[1][1], "NaN: a gap"
    assert values(right)[0] == [10.0, 20.0, 50.0]
    legend = left.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["sound", "paper"]
    assert [text.get_text() for text in left.texts] == ["V3"]
    assert "not for publication" in figure.get_supxlabel()


def test_the_whole_promise_has_an_axis_of_its_own_where_it_varies() -> None:
    rows = [
        row({"min-retention": r}, 1.0, final) for r, final in (("0.1", 7.6), ("0.025", 9.0), ("0.001", 12.2))
    ]
    figure = sweep_figure(["min-retention"], rows, title="T")
    assert len(figure.axes) == 4
    (promise,) = values(figure.axes[2])
    assert promise == [12.2, 9.0, 7.6]
    assert figure.axes[0].get_xscale() == "log"
    same = [row({"delta": d}, 1.0) for d in ("1e-3", "1e-4")]
    assert len(sweep_figure(["delta"], same, title="T").axes) == 2


def test_names_stand_one_after_the_other() -> None:
    rows = [row({"mechanism": name}, 1.0) for name in ("one", "other")]
    left = sweep_figure(["mechanism"], rows, title="T").axes[0]
    assert [label.get_text() for label in left.get_xticklabels()] == ["one", "other"]
    assert left.get_xticks().tolist() == [0.0, 1.0]
    assert not left.texts


def test_draws_stand_beside_with_their_intervals() -> None:
    drawn = {"kl_drawn_all": 2.0, "kl_drawn_all_low": 1.5, "kl_drawn_all_high": 2.5}
    rows = [row({"delta": d}, 1.0, **drawn) for d in ("1e-3", "1e-4", "1e-6")]
    left, right = sweep_figure(["delta"], rows, title="T").axes
    (bars,) = left.containers
    assert isinstance(bars, ErrorbarContainer)
    ends = [segment[:, 1].tolist() for segment in bars.lines[2][0].get_segments()]
    assert ends == [[1.5, 2.5]] * 3
    assert not right.containers


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_same_rows_make_the_same_file(kind: str, start: bytes) -> None:
    rows = [row({"delta": d}, 1.0) for d in ("1e-3", "1e-6")]
    files = {picture_bytes(sweep_figure(["delta"], rows, title="T", stamp="stamped"), kind) for _ in range(2)}
    (content,) = files
    assert content.startswith(start)
    assert kind == "png" or b"stamped" in content


def test_nothing_measured_is_an_empty_picture() -> None:
    figure = sweep_figure(["epsilon"], [row({"epsilon": "4"}, None, None)], title="T")
    assert len(figure.axes) == 2
    assert figure.axes[0].get_legend() is None


def test_v3_is_marked_only_where_it_lies_in_the_range() -> None:
    rows = [row({"epsilon": e}, 1.0) for e in ("8", "9")]
    assert not sweep_figure(["epsilon"], rows, title="T").axes[0].texts
    assert V3 == {"epsilon": 4.6, "min-retention": 0.025, "delta": 1e-6}
