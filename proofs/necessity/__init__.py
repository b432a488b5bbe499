"""Necessity of each rule: protocols with one rule wrong, and the verdicts on them that are kept.

Read `search` (every mutation of every rule), `kept`, `killers`, `refusals`, `plants` and `keeping` (what shows that a
verdict could have been otherwise), `loosening`, `sufficient` and `sets` (rules taken out together), `ledger`, `tables`
and `held` (the table of verdicts).
"""
