"""What people touch; docs/contributing.md says which room holds what, and which may import which."""
