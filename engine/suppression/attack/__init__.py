"""What an ordinary suppressed table gives away."""
