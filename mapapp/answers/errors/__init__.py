"""Expected errors of counts, sums, ratios, distances, and changes, from what a publication states itself."""
