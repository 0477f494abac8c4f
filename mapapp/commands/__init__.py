"""The commands, one module each. A command parses its options, calls other rooms, and prints the result."""
