"""Published tables with suppressed cells as files: CSV, workbooks, and reports."""
