"""Questions, and how addresses, setup files, options and areas spell them."""
