"""What maps and charts contain, before anything draws them."""
