fencepost list transactions                                   # variants, bounds and their reasons, known bugs
fencepost list id-blocks/kraft                                # the protocol as a table of rules, generated from the model
fencepost prove transactions/core-v2                          # an induction proof, read aloud, without any bound
fencepost explore id-blocks/kraft --bound copies=0            # every reachable state within bounds
fencepost show transactions/v1-verified "nothing committed unasked"   # KAFKA-17754: a shortest run, step by step in words
fencepost show id-blocks/kraft disjoint_blocks --without 730.7 "answer: guard 1 dropped"
fencepost necessity id-blocks --rule 730.10                   # every way to get one rule wrong, and what comes of it
fencepost show task-counts/core-shortcut-as-worded "all covered"      # KIP-618's shortcut, word for word, and what it overlooks
fencepost wander kip618-yardstick/any-writer --aim plain      # random walks through a model; aimed ones reach deep mistakes
fencepost agree task-counts/shipped --examples 5              # a Connect cluster, driven thread by thread
fencepost agree id-blocks/kraft --examples 20                 # Hypothesis drives the reference implementation, or yours
fencepost generate id-blocks/kraft DIR --histories 1000       # simulated histories, on Spark
fencepost replay DIR                                          # history properties and conformance to the model, on Spark
fencepost agree transactions/v1 --bootstrap HOST:PORT --promise txn.P3   # any broker; librdkafka's mock breaks this: exit code 1
fencepost record LOG_DIR... --clients FILE --out DIR          # the metadata logs of a real cluster as a history
fencepost record --protocol transactions BROKER_DIR... --out DIR   # … and its transactions: data, coordinators' topics
