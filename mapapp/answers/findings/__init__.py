"""The sentences that an answer begins with."""
