"""The properties of this package state what must be true of each form of SourceTask.commit with offsets.

Read `claims` (what is promised, and why it holds) and `variants`, then `events.py`, `interface.py` (what an
implementation offers) and `histories.py` (what its events must satisfy).
"""
