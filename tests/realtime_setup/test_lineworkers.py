"""Kernel workers are raised while a line is in use, whoever comes and goes, and put back afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nuc_engine.realtime.lineworkers import EVERY_NS, LineWorkers


class Machine:
    """Kernel threads by pid, and what they are scheduled by."""

    def __init__(self, root: Path, *, tells_children: bool) -> None:
        self.root, self.tells_children = root, tells_children
        self.policies: dict[int, tuple[int, int]] = {}
        self.refuses = False
        self.add(1, "systemd", parent=0)
        self.add(2, "kthreadd", parent=0)

    def add(self, pid: int, name: str, parent: int = 2, policy: int = os.SCHED_OTHER) -> None:
        place = self.root / str(pid)
        place.mkdir(parents=True)
        (place / "comm").write_text(f"{name}\n")
        (place / "stat").write_text(f"{pid} ({name} ) x) S {parent} 0 0\n")
        self.policies[pid] = (policy, 0)
        if self.tells_children and parent == 2:
            task = self.root / "2/task/2"
            task.mkdir(parents=True, exist_ok=True)
            self.children = [other for other in self.policies if other > 2]
            (task / "children").write_text(" ".join(map(str, self.children)))

    def workers(self) -> LineWorkers:
        return LineWorkers(49, proc=self.root, policy_of=self.policy_of, schedule=self.schedule)

    def policy_of(self, pid: int) -> int:
        if pid not in self.policies:
            raise ProcessLookupError
        return self.policies[pid][0]

    def schedule(self, pid: int, policy: int, priority: int) -> None:
        if self.refuses:
            raise PermissionError(1, "Operation not permitted")
        if pid not in self.policies:
            raise ProcessLookupError
        self.policies[pid] = (policy, priority)


@pytest.fixture(params=[True, False])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    machine = Machine(tmp_path, tells_children=request.param)
    machine.add(40, "kworker/u8:2-events_unbound")
    machine.add(41, "kworker/0:1-mm")
    machine.add(42, "kworker/u8:3", policy=os.SCHED_FIFO)
    machine.add(43, "kworker/u8:4", parent=1)  # a program that calls itself so
    return machine


def test_unbound_workers_are_raised_and_nobody_else_and_put_back(machine: Machine) -> None:
    if machine.tells_children:
        machine.policies.pop(43)
    before = dict(machine.policies)
    workers = machine.workers()
    assert workers.look(0) == ""
    assert machine.policies == {**before, 40: (os.SCHED_FIFO, 49)}
    machine.add(50, "kworker/u9:0")
    workers.look(EVERY_NS - 1)
    assert machine.policies[50] == (os.SCHED_OTHER, 0)
    workers.look(EVERY_NS)
    assert machine.policies[50] == (os.SCHED_FIFO, 49)
    workers.close()
    assert machine.policies == {**before, 50: (os.SCHED_OTHER, 0)}


def test_a_worker_that_ended_meanwhile_is_no_trouble(machine: Machine) -> None:
    machine.add(60, "kworker/u8:7")
    del machine.policies[60]
    workers = machine.workers()
    assert workers.look(0) == ""
    (machine.root / "40/comm").unlink()
    workers.close()
    assert machine.policies[40] == (os.SCHED_FIFO, 49), "another may have its number by now"


def test_who_may_not_is_told_so_once_with_a_remedy(machine: Machine) -> None:
    machine.refuses = True
    workers = machine.workers()
    told = workers.look(0)
    assert "Operation not permitted" in told
    assert "chrt --fifo --pid 49" in told
    assert workers.look(EVERY_NS) == ""
