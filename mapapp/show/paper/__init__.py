"""Self-contained maps and charts as PNG and SVG, drawn without a browser, with reproducible bytes."""

from mapapp.show.paper.charts import chart_pictures
from mapapp.show.paper.map_picture import locator_picture, map_picture, map_title, map_words
from mapapp.show.paper.morning_picture import morning_picture

__all__ = ["chart_pictures", "locator_picture", "map_picture", "map_title", "map_words", "morning_picture"]
