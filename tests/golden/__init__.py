"""Figures that tests compare with; README.md says where each file comes from."""

import json
from pathlib import Path
from typing import Any


def golden(name: str) -> dict[str, Any]:
    """Figures of one file, such as "pdp"."""
    return dict(json.loads((Path(__file__).with_name(f"{name}.json")).read_text(encoding="utf-8")))
