"""Scenarios on exactly-once source connectors, over the interface: what is done in one go with any implementation.

`late` (a thread or a worker is late for something), `settling` (functions that programs call), `tours` (through
everything once, and on from a disagreement).
"""
