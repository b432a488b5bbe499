"""Driving implementations of transactions.

`interface` (what is needed of one), `programs` (calls as data), `verbs` (of scenarios), `machine` (what Hypothesis
does), `agreement` (all of it together).
"""
