"""This package has what two-phase commit (KIP-939) adds to transactions: the coordinator that retains a prepared
transaction, the producer that prepares and completes one, and the outside store that has the decision.

The sources are the KIP's page (read in the excerpts of its versions 8, 16 and 19 that the search of public pages has;
the accepted page was not readable as a whole), trunk's TransactionMetadata.java, KafkaProducer.java of 4.2, and the
tests and the review of apache/kafka PR 21735 (TransactionCoordinatorTest.scala, TransactionsTest.scala), which is open.
Where they differ, a comment at the method has what each has. Read `coordinator` first. `flink` has Flink's Kafka sink,
with its own sources.
"""
