"""The commands, one module each: parse, call, print. The work is done elsewhere."""
