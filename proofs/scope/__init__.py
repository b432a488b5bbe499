"""This package computes against which dangers a verdict stands, and lists what was found out about third-party systems.

Read `scopes` (one engine's verdict), `matrix` (promise × danger × engine), `live` (runs against brokers),
`findings`."""
