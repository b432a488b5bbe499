"""Kafka's clients.

Read `producer` and `sends`, `consumer`, `admin`; `roles` says how a cluster has them. Of groups: `application` first,
which is the loop that users write, then `group_consumer` and `modern_consumer`.
"""
