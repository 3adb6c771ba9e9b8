"""What a cycle costs where servos speak in packets, from the requests the bus makes; for `drivers.bench.budget`."""

from __future__ import annotations

from drivers.bench.budget import Form, LinearCount, grouped, one_by_one
from drivers.framed import requests
from drivers.framed.layout import GOAL, FamilyLayout

_ANY_ID = 1


def forms_of_layout(layout: FamilyLayout) -> tuple[Form, ...]:
    """Return the forms of exchange of a layout's servos, the usual one first. What stuffing may add is left out."""
    dialect, goal, (address, length) = layout.dialect, layout.register(GOAL), layout.block
    goals = _growth(*(len(requests.sync_write(dialect, goal, [(_ANY_ID, 0)] * count)) for count in (1, 2)))
    asking = _growth(*(len(requests.sync_read(dialect, [_ANY_ID] * count, address, length)) for count in (1, 2)))

    def together(name: str, title: str, turns: LinearCount, reply: LinearCount, option: str = "") -> Form:
        read = _sum(asking, reply)
        return Form(layout.family, name, title, *grouped(_sum(goals, read), read, turns, reply), option=option)

    answer = dialect.status_bytes(length)
    forms = [together("sync", "sync write, sync read", LinearCount(0, 1), LinearCount(0, answer))]
    if layout.fast is not None:
        reply = LinearCount(layout.fast.head, layout.fast.each + length)
        forms.append(together("fast", "sync write, fast sync read", LinearCount(1, 0), reply, "fast"))
    read = len(requests.read(dialect, _ANY_ID, address, length)) + answer
    write = len(requests.write(dialect, _ANY_ID, goal, 0)) + dialect.status_bytes(0)
    costs = one_by_one(write + read, read, answer, exchanges=2)
    return (*forms, Form(layout.family, "single", "a read and a write each", *costs, option="single"))


def _growth(one: int, two: int) -> LinearCount:
    """Return bytes from those for one servo and for two."""
    return LinearCount(2 * one - two, two - one)


def _sum(first: LinearCount, second: LinearCount) -> LinearCount:
    return LinearCount(first.fixed + second.fixed, first.per_servo + second.per_servo)
