"""Histories that are larger than a worker's memory, judged in pieces.

Read `rekey` (what is done, and what is undecided), `shuffle` (how rows are dealt out and brought together), `linking`
(which events have to stay together), `scratch` (where what is dealt out lies meanwhile).
"""
