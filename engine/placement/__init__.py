"""Placement: from support points to blocks, and from blocks to points."""
