"""A Connect cluster written for these tests alone: it shows the black box, or everything, and has mistakes to choose
from.  Group membership is simple: whoever leads gives the tasks of the newest set away, one after another."""

from dataclasses import dataclass, field
from types import SimpleNamespace

from fencepost.properties.task_counts.interface import BLACK_BOX


@dataclass
class Worker:
    number: int
    read: int = 0
    member: int = -1  # of which generation of the group
    leads: bool = False
    epoch: int = -1  # of the leader's producer, as this worker knows it
    busy: int = 0  # rounds between check and count: one thread is for both that and new sets
    asked: list = field(default_factory=list)
    rounds: dict = field(default_factory=dict)  # connector: who waits for the round under way
    mine: dict = field(default_factory=dict)  # (connector, task): instance number


class Toy:
    """``check_after``: the second look, after the producer is opened; ``of_new``: fences as many as the new set has;
    ``all_shown``: more than the black box."""

    def __init__(self, config, check_after=True, of_new=False, all_shown=False):
        self.check_after, self.of_new, self.all_shown = check_after, of_new, all_shown
        self.events, self.running, self.stalled, self.log = [], {}, set(), []
        self.members, self.generation, self.started, self.instances = set(), 0, 0, 0
        self.epochs, self.topic_epoch, self.failed, self.dead = {}, 0, set(), set()
        self.workers = [Worker(n) for n in range(config["workers"])]
        for worker in self.workers:
            self._join(worker.number)
            self._start(worker.number, self._herder(worker))

    # The plug

    def threads(self):
        self._settle()
        return [(n, *t.at) for n, t in sorted(self.running.items()) if t.at and t.worker not in self.stalled]

    def step(self, number, outcome="ok"):
        thread = self.running[number]
        thread.outcome, thread.at = outcome, None
        self._go_on(number)
        self._settle()

    def configure(self, worker, connector, tasks):
        leader = self._leader()
        if worker in self.dead | self.stalled or leader is None:
            return False
        self._show("asked", node=worker, connector=connector, count=tasks)
        self.workers[leader].asked.append((connector, tasks))
        return True

    def delete(self, *_):
        return False

    stop_connector = restart_connector = delete

    def restart_task(self, worker, connector, task):
        owner = next((w for w in self.workers if (connector, task) in w.mine and w.number not in self.stalled), None)
        if (connector, task) not in self.failed or owner is None:
            return False
        self.failed.discard((connector, task))
        self._task(owner, connector, task)
        return True

    def stall(self, worker):
        if worker not in self.dead:
            self.stalled.add(worker)

    def resume(self, worker):
        self.stalled.discard(worker)

    def crash(self, worker):
        if worker in self.dead:
            return
        self.dead.add(worker)
        self.stalled.discard(worker)
        self.running = {n: t for n, t in self.running.items() if t.worker != worker}
        self._show("worker_stopped", node=worker)
        self.expire(worker)

    def restart_worker(self, worker):
        self.crash(worker)
        self.dead.discard(worker)
        self.workers[worker] = Worker(worker)
        self._show("worker_started", node=worker, support=3)
        self._join(worker)
        self._start(worker, self._herder(self.workers[worker]))

    def expire(self, worker):
        if worker in self.members:
            self.members.discard(worker)
            self.generation += 1

    def advance(self, *_):
        """Nothing here waits for time to pass, or is compacted."""

    set_support = write_foreign = compact = advance

    def status(self, connector, task):
        return ("FAILED" if (connector, task) in self.failed else "RUNNING", "")

    def drain_events(self):
        events, self.events = self.events, []
        return events

    # Threads

    def _start(self, worker, script):
        self.running[self.started] = SimpleNamespace(worker=worker, script=script, at=None, outcome="ok", wait=None)
        self.started += 1
        return self.started - 1

    def _go_on(self, number):
        thread = self.running[number]
        try:
            said = next(thread.script) if thread.wait is None and thread.at is None else None
        except StopIteration:
            del self.running[number]
            return
        thread.at, thread.wait = (None, said) if callable(said) else (said, None)

    def _settle(self):
        moved = True
        while moved:
            moved = False
            for number, thread in list(self.running.items()):
                if thread.worker in self.stalled or thread.at is not None:
                    continue
                if thread.wait is None or thread.wait():
                    thread.wait, moved = None, True
                    self._go_on(number)

    def _show(self, kind, **columns):
        if self.all_shown or kind in BLACK_BOX:
            self.events.append({"kind": kind, **columns})

    def _failed(self, number):
        return number in self.running and self.running[number].outcome == "failed"

    # The group

    def _leader(self):
        alive = [w.number for w in self.workers if w.leads and w.number in self.members]
        return alive[0] if alive else None

    def _join(self, worker):
        self.members.add(worker)
        self.generation += 1

    def _newest(self, connector, upto):
        return max((o for o, r in enumerate(self.log[:upto]) if r[:2] == ("set", connector)), default=-1)

    def _count(self, connector, upto):
        return max((o for o, r in enumerate(self.log[:upto]) if r[:2] == ("count", connector)), default=-1)

    def _write(self, worker, connector, *records):
        if worker.epoch != self.topic_epoch:
            return False  # and the herder claims the topic back, if it still leads
        for kind, value in records:
            offset = len(self.log)
            self.log.append((kind, connector, value))
            columns = dict(node=worker.number, connector=connector, offset=offset, producer_id=0, epoch=worker.epoch)
            if kind == "task":
                self._show("task_config_written", task=value, **columns)
            else:
                place = offset if kind == "set" else self._newest(connector, offset)
                self._show(f"{kind}_written", set=place, count=value, **columns)
        return True

    def _herder(self, worker):
        n = worker.number
        while True:
            if n not in self.members:
                yield "join", n, -1, -1
                if n not in self.members:
                    self._join(n)
            elif worker.member != self.generation:
                yield "sync", n, -1, -1
                worker.member = self.generation
                worker.leads = n == min(self.members)
                self._take(worker)
            elif worker.leads and worker.epoch != self.topic_epoch and not worker.busy:
                yield "claim", n, -1, -1
                if worker.busy:
                    continue
                self.topic_epoch += 1
                worker.epoch = self.topic_epoch
                self._show("topic_claimed", node=n, producer_id=0, epoch=worker.epoch)
            elif worker.asked and worker.leads and not worker.busy:
                connector, size = worker.asked[0]
                yield "write", n, connector, -1
                if not worker.busy and self._write(
                    worker, connector, *(("task", i) for i in range(size)), ("set", size)
                ):
                    worker.asked.pop(0)
            elif worker.read < len(self.log):
                yield "read", n, -1, -1
                worker.read += 1
                if self.log[worker.read - 1][0] == "set":
                    self._take(worker)
            else:
                yield lambda: (
                    worker.member != self.generation or n not in self.members or worker.read < len(self.log)
                    or (not worker.busy and worker.leads and bool(worker.asked or worker.epoch != self.topic_epoch))
                )  # fmt: skip

    def _take(self, worker):
        """What is this worker's, by what it has read."""
        members, mine = sorted(self.members), {}
        for connector in sorted({r[1] for r in self.log[: worker.read]}):
            newest = self._newest(connector, worker.read)
            size = self.log[newest][2] if newest >= 0 else 0
            for task in range(size):
                if members[task % len(members)] == worker.number:
                    mine[connector, task] = newest
        for key in list(worker.mine):
            self._stop(worker, key)
        for connector, task in mine:
            self._task(worker, connector, task)

    def _stop(self, worker, key):
        instance = worker.mine.pop(key)
        self.failed.discard(key)
        self.running = {n: t for n, t in self.running.items() if getattr(t, "instance", -1) != instance}
        self._show("task_stopped", node=worker.number, connector=key[0], task=key[1], instance=instance)

    def _round(self, connector, answer):
        leader = self._leader()
        if leader is None:
            return answer.append(500)
        under_way = self.workers[leader].rounds
        if connector not in under_way:
            under_way[connector] = []
            self._start(leader, self._alone(self.workers[leader], connector))
        under_way[connector].append(answer)

    def _alone(self, worker, connector):
        """One round at a time, for all who ask meanwhile."""
        status = yield from self._fencing(worker, connector, self.started - 1)
        for answer in worker.rounds.pop(connector):
            answer.append(status)

    def _fencing(self, worker, connector, number):
        n = worker.number
        yield "start_round", n, connector, -1
        newest, counted = self._newest(connector, None), self._count(connector, None)
        if counted > newest:
            return 200
        size = self.log[newest][2]
        old = self.log[counted][2] if counted >= 0 else 0
        ids = range((size if self.of_new else old) if old and not old == size == 1 else 0)
        round_of = dict(node=n, connector=connector, set=newest)
        self._show("round_started", count=len(ids), **round_of)
        if old and not old == size == 1:
            for task in ids:
                yield "fence", n, connector, task
                if self._failed(number):
                    self._show("round_failed", status=500, **round_of)
                    return 500
                epoch = self._bump(connector, task)
                columns = dict(node=n, connector=connector, task=task, producer_id=self._id(connector, task))
                self._show("id_fenced", epoch=epoch, **columns)
            yield "check_round", n, connector, -1
            status = 200 if self._newest(connector, None) == newest else 409
            self._show("round_checked", status=status, **round_of)
            if status == 409:
                return status
        worker.busy += 1
        yield "write_count", n, connector, -1
        worker.busy -= 1
        written = self._write(worker, connector, ("count", size))
        if not written:
            self._show("write_refused", node=n, connector=connector, error=90)
        return 200 if written else 500

    def _id(self, connector, task):
        return 1 + 10 * connector + task

    def _bump(self, connector, task):
        self.epochs[connector, task] = self.epochs.get((connector, task), -1) + 1
        return self.epochs[connector, task]

    def _task(self, worker, connector, task):
        instance = self.instances
        self.instances += 1
        worker.mine[connector, task] = instance
        number = self._start(worker.number, self._running(worker, connector, task, instance))
        self.running[number].instance = instance

    def _running(self, worker, connector, task, instance):
        n, answer = worker.number, []
        start = self._newest(connector, worker.read)
        columns = dict(node=n, connector=connector, task=task, instance=instance, set=start)

        def fail():
            self.failed.add((connector, task))
            self._show("task_failed", **columns)

        self._show("task_starting", **columns)
        yield "ask", n, connector, task
        asked = dict(node=n, connector=connector, task=task)
        self._show("round_asked", **asked)
        self._round(connector, answer)
        yield lambda: bool(answer) or self._leader() is None
        self._show("round_answered", status=answer[0] if answer else 500, **asked)
        if answer != [200]:
            return fail()
        yield "open_producer", n, connector, task
        epoch = self._bump(connector, task)
        columns |= dict(producer_id=self._id(connector, task), epoch=epoch)
        self._show("producer_opened", **columns)
        yield "check_after", n, connector, task
        if self.check_after and self._newest(connector, None) != start:
            self._show("task_checked_again", status=409, **columns)
            return fail()
        self._show("task_checked_again", status=200, **columns)
        self._show("task_running", **columns)
        while True:
            for operation, kind in (("poll", "records_sent"), ("commit", "transaction_committed")):
                yield operation, n, connector, task
                if self.epochs[connector, task] != epoch:
                    self._show("transaction_refused", **columns, error=90)
                    return fail()
                self._show(kind, **columns)


def toy(config):
    """The cluster without a mistake."""
    return Toy(config)


def told(config):
    """The same, and all that happens is shown."""
    return Toy(config, all_shown=True)


def without_check_after(config):
    """A task runs without a second look at the topic (618.19)."""
    return Toy(config, check_after=False)


def fences_as_many_as_the_new_set(config):
    """Fenced are as many ids as the new set has (618.6)."""
    return Toy(config, of_new=True)
