"""Histories of task counts (KIP-618).

`events` (kinds and columns), `properties` (what must hold of them, with the kernels beside), `signs` (how a danger
shows), `words`; and violations that are planted for tests and killers.
"""
