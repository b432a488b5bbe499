"""Recordings of producer id blocks: the metadata log of KRaft controllers, and what clients were given.

Read `recorder`, then `records` (what metadata records say), `observed` and `clients` (a history of what clients saw).
"""
