"""Validity against a parameter."""
