"""This package records producer id blocks: the metadata log of KRaft controllers, and the ids that clients received.

Read `recorder`, then `quorum` and `records` (the metadata log and its records), `clients` (what clients saw)."""
