"""The modules of this package compute things from a traced protocol.

`mutations` lists every way to get one rule wrong, `timing_mutations` those mistakes that delay, forget or repeat
something. `refinements` checks a detailed protocol against an abstract one, and `receptiveness` the steps of the
abstract one that the detailed one must be able to follow. `inheritance` explains why a step of a protocol is a step of
one of its parts. `scope` declares which dangers a protocol leaves out, and why.
"""
