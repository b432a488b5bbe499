"""Recordings of producer id blocks: the metadata log of KRaft controllers, and what clients were given.

Read `recorder`, then `quorum` and `records` (the metadata log and what its records say), `clients` (what
clients saw)."""
