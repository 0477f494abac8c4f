"""The list of planted faults fits the tree. `python -m tests.planted_faults` plants them."""

from __future__ import annotations

from tests.planted_faults import ROOT, listed_faults


def test_every_fault_can_be_planted_and_its_tests_exist() -> None:
    faults = listed_faults()
    assert len(faults) == len({fault.name for fault in faults}) >= 60
    for fault in faults:
        assert fault.planted(ROOT) != (ROOT / fault.file).read_text(encoding="utf-8"), fault.name
        assert fault.tests, fault.name
        for test in fault.tests:
            file, *names = test.split("::")
            text = (ROOT / file).read_text(encoding="utf-8")
            assert all(f"def {name.split('[')[0]}(" in text for name in names), test
