"""The abstract models of KIP-618's task counts are proved without bounds.

`core` has one connector with its sets of task configurations, counts, rounds and starts. `cores` has the forms of the
KIP's revisions and of Kafka, and `loose` has further steps of implementations that change no promise.
"""
