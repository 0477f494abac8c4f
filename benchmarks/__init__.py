"""Measurements, one command each. The numbers in the documentation come from here.

A module with a `main` is a benchmark, run by `python -m benchmarks.NAME`. It defines

- `argument_parser()`, which returns the parser of its options;
- `main(arguments=None)`, which runs it with those arguments (or with the command line's) and prints a Markdown table;
- `SMALLEST`, the arguments of its smallest run: a second or two of processor time.

`tests/test_benchmarks.py` runs every benchmark with its `SMALLEST` arguments, in one process. In them `{dataset}` is a
copy of the small demo dataset, `{release}` a release of it (not to be changed), `{data}` a folder of tiny Census files,
and `{folder}` an empty folder for what the benchmark writes. So that the test need not start processes of its own, a
benchmark starts `commutemap` by `benchmarks.commands` and Chromium by `benchmarks.chromium`.
"""
