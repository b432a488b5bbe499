"""Abstract models of KIP-618's task counts, which are proved without bounds.

Read `core` (one connector: sets of task configurations, counts, rounds, starts), `cores` (the forms that documents and
Kafka have had), `loose` (further steps of implementations that change no promise).
"""
