"""From source files to the tables of a dataset."""
