"""The workers' herders: who leads, who runs what, and rounds of zombie fencing.

Read `herder` with `group` and `assignors`, `rounds`, `asking` with `endpoint`, `requests`
and `session_keys`; `connector` (who makes task configurations), `revisions` (what differs between documents).
"""
