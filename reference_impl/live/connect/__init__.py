"""This package starts Kafka Connect from Maven's jars on 127.0.0.1 and steers it: workers in JVMs of their own, and a
source connector of which every call is decided here.

Read `cluster`, `worker`, `control`, `rest`, `watching`, `seen` and `install` in this order. `system` is such a cluster
as `fencepost agree --connect` drives it: `stepping` lets its operations wait for the driver, `observing` makes events
of what is seen, and `config_topic` compacts its topic. `source_offsets` and `source_commits` drive source tasks, with
what they share in `sources`, and `auditing` reads their topics from outside.
"""
