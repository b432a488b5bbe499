"""These models cover group-aware fencing (KIP-447): members of a consumer group that read, process and write in
transactions.

`core` has what all forms share: fetched offsets, transactions and pending commits. `classic` has generations (the
draft, its repairs, and what shipped), `modern` member epochs (KIP-848 and KIP-1251), and `upgrade` clients of both
kinds. In `over_core`, which has what shipped, a member's transactions are the core of transactions itself.
"""
