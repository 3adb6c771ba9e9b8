"""The values in force, to look at without hurry: the last cycle, and every write since."""

from __future__ import annotations

from nuc_engine.messages.errors import Refused
from nuc_engine.model.store import Store, StoreError
from nuc_engine.service.mirror import Mirror


def store_in_force(mirror: Mirror) -> Store:
    """Return a store of one's own with the values in force. Raises Refused."""
    store = Store(mirror.plan)
    try:
        store.load_bytes(mirror.store.snapshot().data)
    except StoreError as error:
        raise Refused("failed", str(error)) from error
    for index, values in mirror.written.items():
        if index in mirror.settable:
            store.write(index, values)
    return store


def values_in_force(mirror: Mirror) -> dict[int, tuple[int | float, ...]]:
    """Return the elements of every HDSO that has a value. Raises Refused."""
    store = store_in_force(mirror)
    found = ((hdso.index, store.values(hdso.index)) for hdso in mirror.plan.hdsos)
    return {index: values for index, values in found if values is not None}
