"""Scenarios on transactions, over the interface: what is done in one go with any implementation.

`shared` (what any driver can play), `driven` (on a cluster that does nothing by itself), `remote` (on brokers that act
by themselves), `settling` and `newcomers` (functions that programs call), `tours` (through everything once, and on from
a disagreement).
"""
