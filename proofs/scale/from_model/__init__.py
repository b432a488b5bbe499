"""Histories straight from a model: thousands of its runs at once, in NumPy columns.

`steps` (what a run may do next, and the rows that it shows then), `emission` (that as NumPy functions), `runs` (many
runs, side by side), `simulator` (which `generate` calls, and what a manifest says of them)."""
