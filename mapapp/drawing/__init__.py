"""Maps and charts as plain functions of data, independent of the web page."""
