"""What each rule is for: protocols with one rule wrong, and what is kept of judging them.

Read `search` (every mutation of every rule), `kept`, `killers`, `refusals`, `plants` and `keeping` (what shows that a
verdict could have been otherwise), `loosening`, `sufficient` and `sets` (rules taken out together), `ledger`, `tables`
and `held` (the table of verdicts).
"""
