"""What attackers learn from worker records. Confidential: for the analyst."""
