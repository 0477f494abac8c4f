"""Files that a visitor can download. They are made on request, with limits on number, time and size."""
