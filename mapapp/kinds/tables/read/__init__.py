"""Published tables with suppressed cells, opened for reading."""
