"""This package has Kafka's clients.

Read `producer` and `sends`, `consumer` and `admin`. `roles` defines the clients of a cluster. For groups, `application`
comes first, which is the loop that users write, then `group_consumer` and `modern_consumer`.
"""
