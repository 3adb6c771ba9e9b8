"""Who is there: all ids asked at once, where servos answer that one after the other, or one by one."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from typing import Final

from drivers.framed import requests
from drivers.framed.layout import MODEL, FamilyLayout
from drivers.framed.packet import BROADCAST
from drivers.framed.transactions import Exchange, StatusesById, StatusQuery
from drivers.port import wire_ns

NO_MODEL: Final = -1
"""In place of a model number where the answer has none."""

_TRIES: Final = 3
"""How often one that was named is asked whether it is there, and who is there for its model.

Who answers a ping and no read is the ping's own echo, or of no use.
"""


def search(
    layout: FamilyLayout, baud: int, known: Collection[int], ids: Sequence[int]
) -> Generator[Exchange, StatusesById, dict[int, int]]:
    """Return the model numbers of the servos that answer, by bus id, rising; only `ids` are asked if there are any.

    Not heard the first time, an id that was named is asked twice more. Where all are asked at once, those that should
    be there (`known`) and were not heard are asked once more.
    """
    dialect, found = layout.dialect, set[int]()
    asked: Collection[int] = ids or range(dialect.max_id + 1)
    if layout.ping_slot_ns and not ids:
        found.update((yield from _ping_all(layout, baud)))
        asked = sorted(set(known) - found)
    for bus_id in asked:
        for _ in range(_TRIES if ids else 1):
            heard = yield Exchange(requests.ping(dialect, bus_id), (bus_id,), layout.ping_data)
            if heard:
                found.add(bus_id)
                break
    models: dict[int, int] = {}
    register = layout.register(MODEL)
    for bus_id in sorted(found):
        request = requests.read(dialect, bus_id, register.address, register.size)
        for _ in range(_TRIES):
            packet = (yield Exchange(request, (bus_id,), register.size)).get(bus_id)
            if packet is not None:
                whole = len(packet.params) == register.size
                models[bus_id] = register.decode(packet.params) if whole else NO_MODEL
                break
    return models


def _ping_all(layout: FamilyLayout, baud: int) -> StatusQuery:
    ids = tuple(range(layout.dialect.max_id + 1))
    status_ns = wire_ns(layout.dialect.status_bytes(layout.ping_data), baud)
    patience_ns = len(ids) * (status_ns + layout.ping_slot_ns)
    return (yield Exchange(requests.ping(layout.dialect, BROADCAST), ids, layout.ping_data, listen_ns=patience_ns))
