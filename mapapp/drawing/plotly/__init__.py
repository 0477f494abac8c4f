"""Maps and charts of the page, by Plotly."""
