"""A run on a Dask cluster: the coordinator here, and what its workers do."""
