"""Published worker records: their attributes, cross tables, rows, and what they promise."""
