"""Runs of a model as pages that people look at: one file for a browser, a sequence diagram for a pull request.

Read `stories` (what of a run is told, as plain data), `page` (that data in one self-contained HTML file), `mermaid`
(the same as a diagram that GitHub draws), `verdict_page` (all verdicts of a run in one such file).
"""
