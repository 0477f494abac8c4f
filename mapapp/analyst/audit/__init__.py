"""What an attacker would learn from a release about single workers. Confidential: for the analyst only.

Source: docs/audit.md; Cormode, Procopiuc, Shen, Srivastava, Yu 2013, "Empirical privacy and empirical utility of
anonymized data".
"""
