"""The detailed models of transactions are explored within bounds, and each refines an abstract one.

`coordinator` adds pending transitions, a log that may refuse appends, and memory that a fail-over loses. `producers`
adds the producers' side. `full` combines both with the partitions of each core, `expiry` adds transactional ids that
are forgotten, and `releases` has what differs by release.
"""
