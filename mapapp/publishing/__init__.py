"""From a dataset to a release: the only place where the engine and the geography meet.

`geography` reads what is public, `inputs` the workers of a batch of destination tracts; `prior` and `support` make
support points from public data, `promise` certifies their weights; `batch` does all of that for one batch and draws
it, `run` for all batches. `certificate` states the promise and checks it again from a release; `cluster` runs batches
on other machines; `ledger` keeps what was spent.
"""
