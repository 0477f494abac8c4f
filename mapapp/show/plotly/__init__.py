"""Plotly maps and charts for the page."""
