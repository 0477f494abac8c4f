"""The areas of a publication: their names, units, layers, shapes, and how they are chosen."""
