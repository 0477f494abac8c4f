"""Maps and charts as files that stand alone: PNG and SVG, drawn without a browser, the same bytes every time."""

from mapapp.pictures.charts import chart_pictures
from mapapp.pictures.locator import locator_picture
from mapapp.pictures.map_picture import map_picture, map_title, map_words

__all__ = ["chart_pictures", "locator_picture", "map_picture", "map_title", "map_words"]
