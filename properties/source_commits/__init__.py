"""The properties of this package state what must be true of SourceTask.commit with offsets, and of which of its forms
it is true.

Read `claims` (what is promised, and why it holds) and `variants`, then `events.py`, `interface.py` (what an
implementation offers) and `histories.py` (what its events must satisfy).
"""
