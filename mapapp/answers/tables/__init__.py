"""Published tables with suppressed cells: their counts, their stars with reasons, and what they promise."""
