"""What only an analyst may see."""
