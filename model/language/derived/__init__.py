"""Computed from a traced protocol.

Read `mutations` (every way to get one rule wrong), `timing_mutations` (those that come too late, forget, or come once
more), `refinements` (a detailed protocol held against an abstract one), `receptiveness` (steps of the abstract one
that the detailed one must be able to follow), `inheritance` (why a step of a protocol is one of its parts'), `scope`
(which dangers a protocol has, and why it leaves out the others).
"""
