"""Geography and data: importers, hierarchy, distances, cells, points and the stores."""
