"""A protocol of one's own, the worked example of README: a lock whose leases carry fencing tokens.

In the order in which to read it: `model.py` (rules), `claims.py` (what must be true, and what is judged), `events.py`
(what an implementation shows, and what that says to the model), `interface.py` (what it offers), `histories.py` (what
its events must satisfy), `reference.py` (an implementation, and one with a defect).
"""
