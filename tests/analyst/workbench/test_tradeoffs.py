"""The trade-off on Tune: settings and other schemes on one scale, as curves and tables."""

from __future__ import annotations

import json

import pytest
from plotly.utils import PlotlyJSONEncoder

from mapapp.analyst.audit.audited import audited_setting
from mapapp.analyst.audit.comparison import comparison_tables
from mapapp.analyst.audit.questions import QUESTIONS, Question
from mapapp.analyst.audit.run import audited_workers
from mapapp.analyst.workbench.audit_chart import tradeoff_chart
from mapapp.analyst.workbench.audits import THIS_SETTING
from mapapp.analyst.workbench.jobs import Cancelled
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import Values, preset_values, read_setting
from mapapp.analyst.workbench.tradeoffs import (
    DEFAULT_SCHEMES,
    TradeOff,
    marked_settings,
    run_tradeoff,
    schemes_of,
    tradeoff_cards,
)
from mapapp.base.errors import UsageError

PUBLISHED = preset_values("onthemap-v3", has_flows=True)
RECOMMENDED = preset_values("recommended", has_flows=True)
EXPONENTIAL = PUBLISHED | {"mechanism": "exponential", "means": "whole", "epsilon": "4"}
SCHEMES = "k=2,50 exponential=2 l-entropy=1.5,3"


@pytest.fixture
def found(session: Session) -> TradeOff:
    settings = {THIS_SETTING: read_setting(PUBLISHED), "A": read_setting(EXPONENTIAL)}
    schemes = schemes_of(session, SCHEMES, "earnings")
    return run_tradeoff(session, settings, schemes, "earnings", "sample", lambda *_: None)


def test_kept_settings_and_presets_are_marked_once(session: Session) -> None:
    published, exponential = read_setting(PUBLISHED), read_setting(EXPONENTIAL)
    assert list(marked_settings(session, exponential)) == [THIS_SETTING, "recommended", "onthemap-v3"]
    session.kept.keep("A", exponential, EXPONENTIAL)
    marked = marked_settings(session, published)
    assert list(marked) == [THIS_SETTING, "A", "recommended"]
    assert marked["recommended"] == read_setting(session.start)


@pytest.mark.parametrize(
    ("text", "words"), [("", "give at least one"), ("m=8", "the schemes are k"), ("l=4", "only 3")]
)
def test_schemes_are_refused_before_anything_runs(session: Session, text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        schemes_of(session, text, "earnings")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_schemes_offered_first_can_be_made_for_every_question(
    session: Session, question: Question
) -> None:
    assert sum(scheme.name == "exponential" for scheme in schemes_of(session, DEFAULT_SCHEMES, question)) >= 6


def test_the_tables_are_those_of_the_command(session: Session, found: TradeOff) -> None:
    setting = read_setting(PUBLISHED)
    audited = audited_setting(session.data, THIS_SETTING, setting.privacy, setting.parameters)
    schemes = schemes_of(session, SCHEMES, "earnings")
    published = audited_workers(session.data, audited, ["earnings"], keeps_records=True)
    expected = comparison_tables(session.data, [published], schemes, ["earnings"])
    mine = found.tradeoff[found.tradeoff["release"] == THIS_SETTING]
    assert mine.reset_index(drop=True).equals(expected["tradeoff"])


def test_a_setting_that_cannot_be_compared_is_refused_and_others_are_left_out(
    assigned_session: Session,
) -> None:
    session, by_block = assigned_session, read_setting(RECOMMENDED | {"unit": "block"})
    schemes = schemes_of(session, "k=2", "home")
    with pytest.raises(UsageError, match="other schemes are not compared"):
        run_tradeoff(session, {THIS_SETTING: by_block}, schemes, "home", "sample", lambda *_: None)
    settings = {THIS_SETTING: read_setting(PUBLISHED), "blocks": by_block}
    assert run_tradeoff(session, settings, schemes, "home", "sample", lambda *_: None).names == (
        THIS_SETTING,
    )


def test_progress_rises_to_its_end_and_can_stop_the_work(session: Session) -> None:
    settings = {THIS_SETTING: read_setting(PUBLISHED)}
    schemes = schemes_of(session, "k=2,50", "earnings")
    steps: list[int] = []

    def count(_stage: str, done: int, total: int) -> None:
        assert total == 300
        steps.append(done)

    run_tradeoff(session, settings, schemes, "earnings", "whole", count)
    assert steps == sorted(steps)
    assert steps[-1] == 300

    def stop(_stage: str, done: int, _total: int) -> None:
        if done >= 200:
            raise Cancelled

    with pytest.raises(Cancelled):
        run_tradeoff(session, settings, schemes, "earnings", "whole", stop)


def test_a_line_for_each_scheme_and_a_star_for_each_setting(found: TradeOff) -> None:
    rows = found.schemes[(found.schemes["target"] == "earnings") & (found.schemes["n"] == "1")]
    figure = tradeoff_chart(rows, found.names)
    assert [trace.name for trace in figure.data] == ["k", "exponential", "l-entropy", THIS_SETTING, "A"]
    assert list(figure.data[0].customdata) == ["k=2", "k=50"]
    # Not even all workers together have an entropy of three values.
    assert list(figure.data[2].customdata) == ["l-entropy=1.5"]
    star = figure.data[3]
    own = rows[rows["label"] == THIS_SETTING]
    assert star.marker.symbol == "star"
    assert (star.x[0], star.y[0]) == pytest.approx(
        (100 * own["median_relative_error"].item(), 100 * own["lookup"].item())
    )


def test_what_has_no_error_is_in_the_table_only(found: TradeOff) -> None:
    rows = found.schemes[(found.schemes["target"] == "earnings") & (found.schemes["n"] == "all")]
    exact = rows["label"].isin(("k=2", "A"))
    figure = tradeoff_chart(
        rows.assign(median_relative_error=rows["median_relative_error"].mask(exact, 0.0)), found.names
    )
    assert [trace.name for trace in figure.data] == ["k", "exponential", "l-entropy", THIS_SETTING]
    assert list(figure.data[0].customdata) == ["k=50"]


def test_cards_have_averages_and_lone_workers(found: TradeOff) -> None:
    def said(values: Values) -> str:
        cards = tradeoff_cards(found, read_setting(values))
        return json.dumps(cards, cls=PlotlyJSONEncoder, ensure_ascii=False)

    text = said(PUBLISHED)
    assert "Earnings, all workers: named right by lookup" in text
    assert "Earnings, lone workers: named right by lookup" in text
    assert "not reached" in text
    assert "l-entropy=3 (not met even by all workers together)" in text
    assert "Workers of all workplace tracts." in text
    assert "changed since" not in text
    assert "changed since" in said(EXPONENTIAL)
