"""What a map, a chart, or a table shows, and the renderers: Plotly, paper, and files."""
