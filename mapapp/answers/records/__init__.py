"""Published worker records: their attributes, cross tables, expected errors, rows, and what they promise."""
