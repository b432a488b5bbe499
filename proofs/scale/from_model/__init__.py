"""This package generates histories straight from a model: thousands of its runs at once, in NumPy columns.

Read `steps` (the possible steps of a run, and the rows that they emit), `emission` (the same as NumPy functions),
`runs` (many runs, side by side), `simulator` (which `generate` calls, and the manifest's entries)."""
