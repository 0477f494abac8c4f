"""From a dataset to a release: the only place where the engine and the geography meet."""
