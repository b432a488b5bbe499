"""Driving implementations of task counts (KIP-618).

`interface` (what is needed of one), `programs` (calls as data), `machine` (what Hypothesis does), `agreement` (all of
it together).
"""
