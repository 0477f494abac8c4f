"""Published tables as files: CSV, workbooks, and reports."""
