"""Worker records: dataset → model, seeds → synthetic records → points → records store."""
