"""One history of a source task, with commit(map) as proposed, in which about everything happens once.

Records of two source partitions are filtered, refused, given up and acknowledged in any order; a flush fails and comes
back, an exception of commit is ignored, the final commit runs out of time, a process is gone. Every promise is kept,
and at the end all that was acknowledged is stored.
"""

from fencepost.reference_impl.simulation.log import Row
from fencepost.reference_impl.source_commits.parts import Parts
from fencepost.reference_impl.source_commits.script import COMMITTER, TASK, Script


def rows() -> list[Row]:
    """Its rows, in the order of the event log's columns."""
    script = Script(Parts(), mode="proposed", partitions=2, records=12, batch=4, tolerance="all", filtered=5)
    system = script.system
    script.begin()
    script.poll()
    script.arrive("record", 1)
    script.arrive("record", 0, "failed")  # it is tolerated
    script.all_arrive("record")
    script.before("send")
    script.one(TASK, "failed")  # the producer refuses the next record for now
    script.poll()
    system.commit_due()
    script.before("finish", COMMITTER)
    script.arrive("offset", 0)
    script.arrive("offset", 0, "failed")
    script.one(COMMITTER)  # the flush has failed
    script.all_arrive("record")
    script.poll()
    system.commit_due()
    script.before("finish", COMMITTER)
    script.all_arrive("offset")
    script.before("tell", COMMITTER)
    system.audit()
    script.one(COMMITTER, "failed")  # commit throws
    script.commit()
    script.all_arrive("record")
    system.stop()
    script.before("drain")
    script.all_arrive("record")
    script.before("finish")
    script.all_arrive("offset")
    script.thread("instance_stopped")
    system.audit()
    script.begin()
    script.before("send")
    script.one(TASK)
    system.kill()
    script.begin()
    script.poll()
    system.stop()
    script.before("drain")
    script.one(TASK, "failed")  # it does not wait for the records in flight
    script.all_arrive("record")
    script.thread("instance_stopped")
    script.begin()
    script.poll()
    script.all_arrive("record")
    script.poll()
    script.commit()
    script.all_arrive("record")
    script.poll()
    script.commit()
    system.audit()
    made: list[Row] = system.env.log.rows
    return made
