"""What a server keeps in memory, and the most of it: limits of every cache, by where there is one of them.

Those that count bytes are in the total; those that count entries hold small ones. Not limited are the units and
shapes of a geography and the sums of a release's blocks, which visitors cannot multiply. Mapped files are not counted,
because the system can drop them. The analyst's workbench, which serves one person, has limits of its own.
"""

from __future__ import annotations

from typing import Final

MIB: Final = 1 << 20

# The process that listens.
FORWARDED_BYTES: Final = 64 * MIB
"""Answers of other processes, with `serve --processes`."""
FORWARDED_BYTES_EACH: Final = 8 * MIB
UNFINISHED_BYTES: Final = 64 * MIB
"""Bodies of requests that have not arrived as a whole."""
UNSENT_BYTES: Final = 512 * MIB
"""Responses that wait for their clients."""
UPLOADS_BYTES: Final = 64 * MIB
"""Uploaded files that wait to be read."""

# Every process that answers.
RESPONSES_BYTES: Final = 64 * MIB
"""Responses to callbacks, as they were sent."""
FREED_BYTES: Final = 64 * MIB
"""Freed memory at the end of the heap; a question needs some tens of megabytes."""
ADDRESSES: Final = 100
"""Addresses of views, as they were read."""

# Every geography in such a process.
CELL_BLOCKS_BYTES: Final = 64 * MIB
"""Columns of the cells near drawn borders."""
AREA_PARTS_BYTES: Final = 16 * MIB
"""Blocks of parts of areas."""
AREA_PARTS: Final = 64
AREAS: Final = 200
"""Areas, with their blocks."""
USUAL_LAYERS: Final = 500
"""Usual layers of areas."""

# Every publication in such a process.
ANSWERS_BYTES: Final = 256 * MIB
"""Answers, and what they are made of; the processes share it, see :func:`answers_bytes`."""
ANSWERS: Final = 500
"""Results of about 50 questions: a question has about ten, such as its answer, its units, and its outlines."""
DOTS_BYTES: Final = 128 * MIB
"""Places of workers, sorted for pictures: 9 bytes each, so both ends of 7 million commutes."""
SUMS_BYTES: Final = 64 * MIB
"""Sums of all commutes."""
LAST_COMMUTES: Final = 1_000_000
"""Commutes that are kept for the next question, which is often about the same ones."""
COMMUTE_BYTES: Final = 33
"""Of each at most: its columns and its number; 2 more for each further attribute."""
PRIOR_BYTES: Final = 256 * MIB
"""Prior weights of workplace tracts, for expected errors."""
MECHANISM_BYTES: Final = 256 * MIB
"""Tables of the exponential mechanism, for expected errors."""
REDRAWN_BYTES: Final = 64 * MIB
"""The same of the other mechanism; a release has one of the two."""
MILES_BYTES: Final = 64 * MIB
"""Ways between tracts, for expected errors of distances."""
CHARACTERISTICS_BYTES: Final = 96 * MIB
"""Published counts by characteristics."""
WORKPLACES: Final = 32
"""Areas with their synthesizers, for expected errors."""
SENTENCES: Final = 200
"""Questions in plain English, as they were read."""

# Processes of their own.
FILE_PROCESS_BYTES: Final = 3 << 30
"""Beyond the open publications: makes one report, map, or chart at a time."""
UPLOAD_PROCESS_BYTES: Final = 1 << 30
"""Reads one uploaded file at a time."""


def answers_bytes(n_processes: int) -> int:
    """Return the most bytes of a publication's answers in each of several processes."""
    return ANSWERS_BYTES // n_processes


def most_bytes(n_publications: int, n_geographies: int, n_processes: int = 1) -> int:
    """Return the most bytes that all caches, queues, and processes of their own take, beside open publications."""
    listener = UNFINISHED_BYTES + UNSENT_BYTES + UPLOADS_BYTES + (n_processes > 1) * FORWARDED_BYTES
    publication = (
        answers_bytes(n_processes)
        + DOTS_BYTES
        + SUMS_BYTES
        + LAST_COMMUTES * COMMUTE_BYTES
        + PRIOR_BYTES
        + max(MECHANISM_BYTES, REDRAWN_BYTES)
        + MILES_BYTES
        + CHARACTERISTICS_BYTES
    )
    geography = CELL_BLOCKS_BYTES + AREA_PARTS_BYTES
    process = RESPONSES_BYTES + FREED_BYTES + n_publications * publication + n_geographies * geography
    return listener + n_processes * process + FILE_PROCESS_BYTES + UPLOAD_PROCESS_BYTES
