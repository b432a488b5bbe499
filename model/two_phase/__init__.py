"""This package models transactions that an outside coordinator decides: two-phase commit (KIP-939).

`core` is the change that Kafka's review has open (PR 21735) over the core of v2, with the clients and the store of the
outside coordinator; `mistakes` has what follows where a text, or another change, does otherwise.
"""
