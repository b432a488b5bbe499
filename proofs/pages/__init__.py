"""This package draws runs of a model as pages for a browser, each one file.

`stories` has the reported run as plain data, `page` puts that data into one self-contained HTML file, and
`verdict_page` puts all verdicts of a run into one such file.
"""
