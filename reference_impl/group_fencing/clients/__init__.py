"""The clients: consumers of both protocols, the producer, and the application between them.

Read `application` first: it is the loop that users write; `consumer` has what both protocols share, `classic_consumer`
and `modern_consumer` how each is a member of its group.
"""
