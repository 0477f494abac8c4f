"""What every kind of publication shares: ledger, certificates, and publications beside each other."""
