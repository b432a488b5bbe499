"""Recordings of producer id blocks: the metadata log of KRaft controllers, and what clients were given.

Read `recorder`, then `quorum` and `records` (the metadata log and what its records say), `observed` and `clients` (a
history of what clients saw).
"""
