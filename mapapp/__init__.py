"""What people touch; docs/architecture.md says which room holds what, and which may import which."""
