"""Driving implementations of transactions.

`interface` (what is needed of one), `programs` (calls as data), `machine` (what Hypothesis does), `agreement` (all of
it together).
"""
