"""Schemes as `--against` names them: what is read, and what is refused in one line."""

from __future__ import annotations

import pytest

from mapapp.analyst.audit.schemes import DEFAULT_HEIGHT, Scheme, read_schemes
from mapapp.base.errors import UsageError


def test_values_and_options_are_read() -> None:
    assert read_schemes(("k=2,8:height=5", "t=0.3", "kd=1:levels=geometric")) == [
        Scheme(name="k", value=2.0, height=5),
        Scheme(name="k", value=8.0, height=5),
        Scheme(name="t", value=0.3, k=8),
        Scheme(name="kd", value=1.0, height=DEFAULT_HEIGHT, levels="geometric"),
    ]


def test_a_scheme_that_is_given_twice_is_measured_once() -> None:
    specs = ("k=2,8,8", "k=8", "kd=1:height=10", "kd=1.0", "t=0.3:k=8", "t=3/10")
    assert [scheme.label for scheme in read_schemes(specs)] == ["k=2", "k=8", "kd=1", "t=0.3"]


@pytest.mark.parametrize(
    "spec",
    [
        "k=8",
        "k=1234567",
        "k=1234568",
        "k=2147483647:height=4",
        "l-entropy=2:k=4",
        "t=0.3",
        "t=0.12345678",
        "t=0.3:k=2",
        "kd=0.5:height=4",
        "cell=1",
        "exponential=0.0009765625",
        "exponential=25",
    ],
)
def test_labels_are_read_as_the_same_scheme(spec: str) -> None:
    (scheme,) = read_schemes((spec,))
    assert scheme.label == spec
    assert read_schemes((scheme.label,)) == [scheme]
    name, _, options = spec.partition(":")
    assert scheme.family == ":".join([name.split("=")[0], *([options] if options else [])])


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("m=8", "the schemes are k, l, l-distinct"),
        ("k", "give a value, such as k=8"),
        ("k=0", "whole number from 1 to"),
        ("k=2147483648", "whole number from 1 to 2,147,483,647"),
        ("t=0.3:k=2147483648", "whole number from 1 to 2,147,483,647"),
        ("k=2.5", "whole number from 1 to"),
        ("l=0.5", "whole number from 1 to"),
        ("l=2.5", "whole number from 1 to"),
        ("l-distinct=1.5", "whole number from 1 to"),
        ("l-entropy=0.5", "at least 1"),
        ("exponential=0.0001", "1/1024 to 25"),
        ("exponential=25.1", "1/1024 to 25"),
        ("t=1.5", "from 0 to 1"),
        ("t=near", "give a number"),
        ("kd=0", "above 0"),
        ("kd=-1", "above 0"),
        ("kd=1:height=-1", "from 0 to 40"),
        ("kd=1:k=8", "it takes height, levels"),
        ("kd=1:levels=some", "leaf, uniform, geometric, optimal"),
        ("k=8,0", "whole number from 1 to"),
        (f"kd={'9' * 400}/1", "give a number"),
    ],
)
def test_bad_schemes_are_refused_in_one_line(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words) as refusal:
        read_schemes((spec,))
    assert "\n" not in str(refusal.value)
    assert spec in str(refusal.value)


def test_what_depends_on_the_question_is_refused() -> None:
    (diverse,) = read_schemes(("l=4",))
    diverse.require_feasible(4, 9, "home county")
    with pytest.raises(UsageError, match="only 3 values"):
        diverse.require_feasible(3, 9, "earnings")
    (deep,) = read_schemes(("kd=1:height=24",))
    deep.require_feasible(2, 9, "earnings")
    with pytest.raises(UsageError, match="50,000,000 numbers"):
        deep.require_feasible(3, 9, "earnings")
    (cell,) = read_schemes(("cell=1",))
    cell.require_feasible(3, 10_000_000, "earnings")
    with pytest.raises(UsageError, match="use kd"):
        cell.require_feasible(3, 10_000_001, "earnings")
