"""From a dataset to a release: the only place where the engine and the geography meet.

`inputs` reads the confidential tables into arrays, `support` makes every destination tract's support points
from public data, `run` goes from there to the draws, `output` turns draws into the release's tables.
"""
