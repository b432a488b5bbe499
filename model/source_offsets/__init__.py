"""These models cover exactly-once source tasks (KIP-618): records and source offsets are in one transaction, which
decides where a restart resumes.

`core` has tasks, their transactions, and the two offsets topics as one view, as the KIP has it. `shipped` has what
Kafka does and possible fixes, and `delivered` a source partition as its readers see it. `reading` has how offsets are
read to the end, which is one step of the core. `migrating` has the copy of the KIP's earlier text, and downgrades;
`mistakes` breaks a condition of the merged view.
"""
