"""Necessity of each rule: protocols with one rule wrong, and the verdicts on them that are stored.

Read `search` (every mutation of every rule), `promised`, `killers`, `proof_mutants` and `keeping` (what shows
that a verdict could have been otherwise), `rule_removal`, `validity_cores` and `sets` (rules taken out together),
`ledger` and `tables` (the table of verdicts).
"""
