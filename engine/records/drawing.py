"""Records drawn from a model, from nothing or from a prefix of attributes.

A record is addressed by its number, so that the result depends on the key, the model and the number alone.

Source: P17 section 3.2, equation 3.
"""

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.records.kernels import model as kernels
from engine.records.tables import Codes, Model, check_codes
from engine.streams import Keyed, Stage, new_stream
from engine.threads import run_ranges

__all__ = ["draw_records"]


def draw_records(
    model: Model,
    n: int,
    *,
    first: int = 0,
    key: Keyed,
    prefixes: Codes | None = None,
    threads: int = 1,
) -> Codes:
    """Draw records ``first`` to ``first + n - 1`` of a model.

    Parameters
    ----------
    model : Model
    n : int
        How many records.
    first : int
        Number of the first one: parts drawn one after the other are the same as all at once.
    key : SecretKey or PublicSeed
        Draws come from stage RECORD_DRAW, addressed by the record's number.
    prefixes : int32[n, kept], optional
        The first attributes of each record, which are kept; without, every attribute is drawn.
    threads : int
        Threads to use; the records do not depend on it.

    Returns
    -------
    int32[n, m]

    Raises
    ------
    ParameterError
        A number or a prefix is out of range.
    """
    if n < 0 or not 0 <= first <= (1 << 62) - n:
        raise ParameterError(f"records {first} to {first + n - 1}: allowed are 0 to 2^62")
    kept = 0 if prefixes is None else prefixes.shape[1]
    codes = np.empty((n, model.structure.n_attributes), dtype=np.int32)
    if prefixes is not None:
        if prefixes.shape[0] != n or kept > model.structure.n_attributes:
            raise ParameterError(f"prefixes have shape {prefixes.shape}: give one for each of {n} records")
        codes[:, :kept] = check_codes(prefixes, model.structure.domain[:kept])
    fill_records(Stage.RECORD_DRAW, codes, kept, model, first, key, threads)
    return codes


def fill_records(
    stage: Stage, codes: Codes, kept: int, model: Model, first: int, key: Keyed, threads: int
) -> None:
    """Draw the attributes from ``kept`` on of records whose first ``kept`` are filled in (OverflowRefusedError)."""
    failed = run_ranges(
        lambda start, stop: kernels.draw_range(
            (start, stop), int(stage), first, kept, model.tables, key.words, new_stream(), codes
        ),
        blocks(codes.shape[0]),
        threads,
    )
    if max(failed, default=-1) >= 0:
        raise OverflowRefusedError("a random stream passed its 2^32 blocks: draw with another key")


def blocks(n: int) -> npt.NDArray[np.int64]:
    """Relative costs of the blocks of ``n`` records that threads take."""
    return np.full(-(-n // kernels.RECORDS_AT_ONCE), kernels.RECORDS_AT_ONCE, dtype=np.int64)
