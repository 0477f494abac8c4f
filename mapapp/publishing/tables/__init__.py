"""Tables of counts with suppressed cells: what they count, the prior, the decisions, and the certificate."""
