"""An implementation of the lock, in memory, and one with a defect."""


class Locks:
    """A lock service, a store, and what each client holds."""

    def __init__(self, config):
        self.owner, self.issued, self.stored = None, 0, 0
        self.held = [0] * config["clients"]
        self.events = []

    def acquire(self, client):
        if self.owner is not None:
            return False
        self.owner, self.issued = client, self.issued + 1
        self.held[client] = self.issued
        return self.show("granted", client=client, token=self.issued)

    def expire(self):
        if self.owner is None:
            return False
        self.owner = None
        return self.show("expired")

    def write(self, client):
        token = self.held[client]
        if not token:
            return False
        if self.accepts(token):
            self.stored = token
            return self.show("written", client=client, token=token)
        self.held[client] = 0
        return self.show("refused", client=client, token=token)

    def accepts(self, token):
        return self.stored <= token

    def show(self, kind, **columns):
        self.events.append({"kind": kind, **columns})
        return True

    def drain_events(self):
        fresh, self.events = self.events, []
        return fresh


class Unfenced(Locks):
    """The store takes every write."""

    def accepts(self, token):
        return True


reference = Locks
DEFECTS = (Unfenced,)
