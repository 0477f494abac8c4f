"""How the pages answer: parse, query, draw, return."""
