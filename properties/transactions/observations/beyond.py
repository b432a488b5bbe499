"""What the model of transactions cannot follow in a history, though it may be right: why, and how it is noticed.

The model has one record for all of a transaction's in a partition, one memory for all producer ids there, and no
question of a leader that outlives a marker.  Of these only the last can come about in v2.  Of a further record that
comes after the end of its transaction a history shows enough all the same (`BESIDE`).  And it remembers two things
that Kafka's coordinator does not: the pair that InitProducerId named where the id had been forgotten, and how the last
transaction ended once a retry of InitProducerId was written to the log (as Empty).
"""

LATE_RECORD = "v1: a record joins what a late one has opened, of whose transaction another record was there in time"
OLD_ID = "v1: a record of an earlier producer id comes late"
OLD_LEFT = "v1: a marker of a later producer id does not end what a late record of an earlier one has opened"
LATE_QUESTION = "v2: a leader's question reaches the coordinator after a marker has ended it there"
UNTOLD = "a coordinator resigned, and nobody was told which of several partitions it had added"
FORGOTTEN = "a retry names an epoch of before its transactional id was forgotten, which the model remembers"
ERASED = "a retry of InitProducerId erased how the last transaction ended, which the model remembers"
TOO_LARGE = "an epoch is larger than {}"
TOO_MANY = "one transactional id has more {} than {}"
BESIDE = 1_000
"""The code of a further record's append that comes late, in the place of `batch_appended`."""
MOST = {"clients": 256, "transactions": 256, "partitions": 64, "pairs": 1024, "fail_overs": 64}
"""Of one transactional id in one history: how far it is followed."""
