"""The config topic: what is in it, who may write it, and what a worker makes of it.

Read `records`, `config_topic`, `view` with `cluster_state`, `privilege`, `writes`.
"""
