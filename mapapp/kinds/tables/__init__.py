"""Tables of counts with suppressed cells."""
