"""Published files as they come: found, recognized, fetched, and read."""
