"""Kafka's protocol over TCP, as far as clients and recorders need it.

Read `connection`, `brokers`, `versions`, `schemas`, `requests`, `fetching`; `names` and `pool` (what exists on the
brokers), `patience`, `mended`, `timed_log`.
"""
