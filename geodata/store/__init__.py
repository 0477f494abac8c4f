"""Stores: Parquet tables and a manifest, complete or not there at all."""
