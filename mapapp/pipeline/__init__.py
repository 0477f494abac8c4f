"""From a dataset to a release: the only place where the engine and the geography meet.

`geography` reads what is public, `inputs` the workers of a batch of destination tracts; `prior` and `support` make
support points from public data, `promise` certifies their weights; `batch` does all of that for one batch and draws
it, `run` for all batches, and `recheck` once more for a release.
"""
