"""Against which dangers a verdict stands, and what was found out about systems of others.

Read `scopes` (one engine's verdict), `matrix` (promise × danger × engine), `live` (runs against brokers),
`findings`."""
