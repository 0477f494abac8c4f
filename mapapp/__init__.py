"""What people touch: command line, pipeline, queries, figures, pages and reports."""
