"""Zones and flows of any country: their files, their columns, and the tables of a store that are made of them."""
