"""From a dataset and a prior to decisions, and a table."""
