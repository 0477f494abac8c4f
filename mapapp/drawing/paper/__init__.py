"""Self-contained maps and charts as PNG and SVG, drawn without a browser, with reproducible bytes."""

from mapapp.drawing.paper.charts import chart_pictures
from mapapp.drawing.paper.locator import locator_picture
from mapapp.drawing.paper.map_picture import map_picture, map_title, map_words

__all__ = ["chart_pictures", "locator_picture", "map_picture", "map_title", "map_words"]
