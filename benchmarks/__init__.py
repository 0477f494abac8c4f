"""Measurements, one command each. Numbers in the documentation come from here."""
