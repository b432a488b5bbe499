"""Driving implementations of producer id blocks (KIP-730).

`interface` (what is needed of one), `programs` (calls as data), `machine` (what Hypothesis does), `agreement` (all of
it together).
"""
