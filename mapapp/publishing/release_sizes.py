"""How large a release is: public numbers that a run and a dry run report alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mapapp.publishing.geography import Workplaces
from mapapp.publishing.promise import CertifiedBatch

__all__ = ["ReleaseSizes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSizes:
    """Sizes of a release.

    Attributes
    ----------
    n_workers, n_synthesizers, n_destination_tracts : int
    n_support : tuple of (least, mean, greatest)
        Support points of a destination tract, after editing.
    """

    n_workers: int
    n_synthesizers: int
    n_destination_tracts: int
    n_support: tuple[int, float, int]

    @classmethod
    def of(cls, workplaces: Workplaces, certified: Sequence[CertifiedBatch]) -> ReleaseSizes:
        """Add up the batches."""
        sizes = [batch.n_support for batch in certified]
        n_tracts = workplaces.tract.size
        return cls(
            n_workers=int(workplaces.n_workers.sum()),
            n_synthesizers=sum(batch.weights.min_prior_weight.size for batch in certified),
            n_destination_tracts=n_tracts,
            n_support=(
                min(least for least, _, _ in sizes),
                sum(total for _, total, _ in sizes) / n_tracts,
                max(greatest for _, _, greatest in sizes),
            ),
        )

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`."""
        least, mean, greatest = self.n_support
        return {
            "n_workers": self.n_workers,
            "n_synthesizers": self.n_synthesizers,
            "n_destination_tracts": self.n_destination_tracts,
            "n_support": {"least": least, "mean": round(mean, 1), "greatest": greatest},
        }

    def support_line(self) -> str:
        """Support points, in a line for a person."""
        least, mean, greatest = self.n_support
        return f"  support points   {least}–{greatest}, mean {mean:.0f} ({self.n_destination_tracts} workplace tracts)"
