"""The callbacks of the pages: parse, query, draw, return."""
