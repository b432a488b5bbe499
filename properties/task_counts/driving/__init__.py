"""Driving implementations of task counts (KIP-618).

`interface` (what is needed of one), `programs` (calls as data), `verbs` (of scenarios), `machine` (what Hypothesis
does), `agreement` (all of it together).
"""
