"""What is computed from a traced protocol.

Read `mutations` (every way to get one rule wrong), `refinements` (a detailed protocol held against an abstract one),
`scope` (which dangers a protocol has, and why it leaves out the others).
"""
