"""This package judges the necessity of each rule, by protocols with one rule got wrong, and stores the verdicts on
them.

`search` has every mutation of every rule. `killers`, `saved_runs`, `proof_mutants` and `keeping` have the evidence that
a verdict could have been otherwise. `rule_removal`, `validity_cores` and `sets` take out rules together. `ledger` and
`tables` have the table of verdicts.
"""
