"""Scenarios on producer id blocks, over the interface: what is done in one go with any implementation.

`blocks` (what is done with clusters of each mode), `tours` (through everything once, and on from a disagreement).
"""
