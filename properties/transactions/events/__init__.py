"""The events of transactions and what each means to the model: `kinds`, then of driven runs and
simulated histories (`driven`), then of brokers over the wire and of recordings (`wire`).
"""
