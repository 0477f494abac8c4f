"""First blocks of the streams of several synthesizers, made together: most streams are short.

A stream that makes its first block by itself costs as much as four streams that share one call of
:func:`engine.kernels.chacha.fill_blocks`. What the streams hold is the same.
"""

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Ints, Words
from engine.kernels.chacha import BLOCK_BYTES, WIDTH, open_stream, take_blocks

__all__ = ["first_blocks", "lay_openings", "open_prepared"]


@lean_jit
def first_blocks(n_workers: int, bytes_each: int) -> int:
    """Number of blocks to prepare for a stream that mostly gives each worker so many bytes; none without workers."""
    if n_workers == 0:
        return 0
    return min(1 + n_workers * bytes_each // BLOCK_BYTES, WIDTH)


@lean_jit
def lay_openings(
    start: int, stop: int, stage: int, ptr: Ints, bytes_each: int, addresses: Addresses, lanes: Words
) -> int:
    """Lay out the first blocks of as many synthesizers from ``start`` on as there are lanes; return the end."""
    lane = 0
    synthesizer = start
    while synthesizer < stop:
        n_blocks = first_blocks(ptr[synthesizer + 1] - ptr[synthesizer], bytes_each)
        if lane + n_blocks > WIDTH:
            break
        for number in range(n_blocks):
            lanes[lane] = number
            lanes[WIDTH + lane] = stage
            lanes[2 * WIDTH + lane] = addresses.destination[synthesizer]
            lanes[3 * WIDTH + lane] = addresses.segment[synthesizer]
            lane += 1
        synthesizer += 1
    return synthesizer


@lean_jit
def open_prepared(
    stage: int, destination: int, segment: int, window: Words, lane: int, n_blocks: int, stream: Ints
) -> None:
    """Open a stream whose first blocks lie in the window from ``lane`` on."""
    open_stream(stage, destination, segment, stream)
    take_blocks(window, lane, n_blocks, stream)
