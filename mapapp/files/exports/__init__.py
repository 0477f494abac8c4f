"""A release, or one answer, in other people's formats; every file says which release it was made of."""
