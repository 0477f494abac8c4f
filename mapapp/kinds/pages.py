"""The pages of all kinds of publications: the one list of them, for the public server.

A further kind adds its page here, and nothing in `mapapp.explore` changes.
"""

from __future__ import annotations

from typing import Final

from mapapp.explore.callbacks.views import KindPage
from mapapp.kinds.records.page.rows_page import RecordsPage
from mapapp.kinds.tables.page.tables_page import TablesPage

PAGES: Final[tuple[KindPage, ...]] = (RecordsPage(), TablesPage())
"""In the order of the menu."""
