"""Runs of a model as pages that people look at, each one file for a browser.

Read `stories` (what of a run is reported, as plain data), `page` (that data in one self-contained HTML file),
`verdict_page` (all verdicts of a run in one such file).
"""
