"""This module drives Flink's sink over the reference cluster: attempts that crash between any two messages."""

from contextlib import suppress
from itertools import cycle, islice

from fencepost.reference_impl.kafka.two_phase.flink import Committer, Job, Settings, Writer
from fencepost.reference_impl.kafka.two_phase.flink_clients import Clients, SinkError
from fencepost.reference_impl.systems.two_phase import reference

GOAL = 6  # records of the source that a completed checkpoint has in the end
PARALLELISM = (2, 1, 3)  # of one attempt after the other
OVER_TIME = 10  # times 10 s, which is more than transaction.timeout.ms


class Crash(Exception):
    """A `Crash` ends an attempt between two messages."""


class Watched:
    """A `Watched` is a cluster in which a crash comes after so many messages and appends, and the next one so many
    after that. ``passed`` counts them."""

    def __init__(self, crashes=()):
        self.system = reference({"clients": 1, "partitions": 2, "ids": 128})
        self.env, self.list_transactions = self.system.env, self.system.list_transactions
        self.advance = self.system.advance
        self.crashes, self.passed, self.names, self.readers = list(crashes), 0, [], 0

    def settle(self):
        network, log = self.env.network, self.system.transaction_log
        while network.in_flight or log.unfinished:
            self.tick()
            if network.in_flight:
                network.deliver(next(iter(network.in_flight)))
            else:
                self.system.log_append()

    def tick(self):
        self.passed += 1
        if self.crashes:
            if not self.crashes[0]:
                del self.crashes[0]
                raise Crash
            self.crashes[0] -= 1

    def rest(self):
        """Let more time pass than an ordinary transaction has."""
        for _ in range(OVER_TIME):
            self.advance(10_000)
            self.system.settle()

    def lose_messages(self):
        for message in self.system.messages():
            self.system.drop(message[0])


def job_on(cluster, settings=None, writer=Writer, committer=Committer):
    """Return a job on a cluster, with these parts."""
    made = Job(Clients(cluster, cluster.names), settings or Settings())
    made.writer, made.committer = writer, committer
    return made


def read(job):
    """Return the source's records of what a new reader gets with read_committed."""
    cluster = job.clients.cluster
    cluster.system.settle()
    cluster.readers += 1
    records = [record for p in (0, 1) for _, record in cluster.system.read(cluster.readers, p)]
    return sorted(job.payload[record] for record in records)


def open_with_records(job):
    """Return the open transactions, and those that the job's writers have begun and written in."""
    return sorted(job.clients.open_names()), sorted(each.current for each in job.writers if each.records)


def run(job, loses=False, parallelism=PARALLELISM, attempts=8):
    """Let a job reach its GOAL over its crashes, with its second checkpoint not completed, and write one record more.
    Return what a reader had after each crash that no completed checkpoint had, or that it had twice."""
    wrong, settings, cluster = [], job.settings, job.clients.cluster
    for count in islice(cycle(parallelism), attempts):
        try:
            job.start(Settings(settings.prefix, settings.naming, settings.two_phase, count, settings.recommits_first))
            while job.completed.position < GOAL:
                job.feed(2)
                job.checkpoint(completes=job.number != 1)
            job.feed(1)
            cluster.settle()
            return wrong
        except (Crash, SinkError):
            job.crash()
            if loses:
                cluster.lose_messages()
            found = read(job)
            wrong += [each for each in found if each >= job.completed.position or found.count(each) > 1]
    raise AssertionError(f"the job has not reached its goal in {attempts} attempts")


def verdict(job, **how):
    """Return what is wrong after a run: records too early, missing and too often, and what lingers besides."""
    early = run(job, **how)
    open_names, expected = open_with_records(job)
    job.clients.cluster.rest()
    found = read(job)
    return {
        "early": early, "missing": [each for each in range(GOAL) if each not in found],
        "again": [each for each in found if found.count(each) > 1], "undone": [each for each in found if each >= GOAL],
        "lingers": sorted({*open_names} - {*expected}),
    }  # fmt: skip


def crash_points(settings, **parts):
    """Return how many places there are at which a run without a crash could have had one."""
    cluster = Watched()
    run(job_on(cluster, settings, **parts))
    return cluster.passed


# Runs in which one thing happens


class Down(Committer):
    """The job crashes before its committer has done anything."""

    def commit(self, committable, producer):
        raise Crash


def unnotified(cluster, settings, writer=Writer):
    """Return a job with a completed checkpoint of two records that crashed before it committed anything."""
    job = job_on(cluster, settings, writer, Down)
    job.start()
    job.feed(2)
    with suppress(Crash):
        job.checkpoint()
    job.crash()
    job.committer = Committer
    assert job.completed.position == 2
    return job


def crashed(job, settings, records, **how):
    """Let an attempt write records and crash."""
    job.start(settings, **how)
    job.feed(records)
    flushed(job)
    job.crash()


def continued(job, settings):
    """Begin an attempt, and take a checkpoint after two more records."""
    job.start(settings)
    job.feed(2)
    job.checkpoint()


def flushed(job):
    for writer in job.writers:
        writer.flush()


def used_again(cluster, two, committer=Committer):
    """Return a job of POOLING that crashed when ids of its completed checkpoint were used again, by two subtasks."""
    job = job_on(cluster, two, committer=committer)
    job.start()
    for completes in (True, False):
        job.feed(2)
        job.checkpoint(completes)
    job.feed(2)
    flushed(job)
    job.crash()
    return job


def lingers(cluster, job):
    """Return what lingers at once, and what still does when an ordinary transaction is over time."""
    at_once, mine = open_with_records(job)
    cluster.rest()
    return [{*names} - {*mine} for names in (at_once, job.clients.open_names())]


def gap_of_subtasks(cluster, naming, **how):
    """Of four subtasks the last one alone has begun, and the next attempt has one."""
    job = job_on(cluster)
    crashed(job, Settings(naming=naming, parallelism=4, **how), 2, only=[3])
    continued(job, Settings(naming=naming, **how))
    return job


def gap_of_expired_ids(cluster, naming, **how):
    """The first id of each subtask was left empty, and expires; the next attempt, a week later, has one subtask."""
    job = job_on(cluster)
    job.start(Settings(naming=naming, parallelism=2, **how))
    job.checkpoint(completes=False)
    job.feed(2)
    flushed(job)
    job.crash()
    cluster.advance(8 * 24 * 3600 * 1000)
    continued(job, Settings(naming=naming, **how))
    return job


def two_changes_of_the_prefix(cluster, naming, **how):
    """An attempt with another prefix takes no checkpoint, and the next one has a third prefix."""
    job = unnotified(cluster, Settings(naming=naming, **how))
    crashed(job, Settings("second", naming, **how), 2)
    continued(job, Settings("third", naming, **how))
    return job


def change_of_the_prefix_after_an_upscale(cluster, naming, **how):
    """A subtask that has no state does not know the prefix of before."""
    job = unnotified(cluster, Settings(naming=naming, **how))
    crashed(job, Settings(naming=naming, parallelism=2, **how), 2)
    continued(job, Settings("second", naming, parallelism=2, **how))
    return job


def tool(job, commits):
    """Let an operator end all that is open: commit what this is true of, and abort the rest (KafkaTransactionTool)."""
    for name in job.clients.open_names():
        producer = job.clients.initialised(name, True, keep=True)
        producer.complete(producer.prepared_state if commits(name, producer.prepared_state) else "")
        job.clients.cluster.settle()


# Sinks that are wrong in one way each


class ListsAll(Writer):
    """LISTING does not leave out what the checkpoint has."""

    def is_precommitted(self, name):
        return False


class UsesAnyId(Writer):
    """POOLING begins with the first id, whether the checkpoint has it or not."""

    def next_name(self, checkpoint):
        self.ongoing = {} if checkpoint == self.restored + 1 else self.ongoing
        return super().next_name(checkpoint)


class CountsFromRestored(Writer):
    """PROBING and INCREMENTING begin with the id of the restored checkpoint."""

    def open(self):
        self.restored = self.last = max(0, self.restored - 1)
        super().open()


class CommitsWhatIsOpen(Committer):
    """The committer commits what it finds under the id, and not only what the checkpoint has."""

    def commit(self, committable, producer):
        producer = producer or self.resumed(committable)
        return super().commit(committable._replace(state=producer.prepared_state), producer)


class PreCommitsUnflushed(Writer):
    """The writer pre-commits while records are on their way."""

    def flush(self):
        """This defect does not wait."""
