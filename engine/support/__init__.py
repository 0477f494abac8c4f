"""The support points of destination tracts, and their public prior."""
