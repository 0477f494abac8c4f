"""Units, cells, distances, and the base map."""
