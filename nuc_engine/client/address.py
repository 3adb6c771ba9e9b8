"""The default daemon where no address is given: the only one on this machine."""

from __future__ import annotations

import os

from nuc_engine.machine.rundir import COMMAND, EPISODES, found, lives
from nuc_engine.messages.errors import ClientError, NotAnswered, nobody


def find_addresses() -> list[str]:
    """Return the addresses of all daemons of this machine that live and may be spoken to.

    Raises NotAnswered when there is none.
    """
    living: list[str] = []
    locked: list[str] = []
    for folder in found(os.environ):
        address = f"ipc://{folder / COMMAND}"
        try:
            living += [address] if lives(folder) else []
        except PermissionError:
            locked.append(address)
    if living:
        return living
    if locked:
        raise NotAnswered(
            f"no permission to speak to {', '.join(locked)}: it is for its user and the people of its group"
        )
    raise nobody("runs here")


def find_address() -> str:
    """Return the address of the one daemon of this machine. Raises NotAnswered for none, ClientError for several."""
    living = find_addresses()
    if len(living) > 1:
        raise ClientError(f"{len(living)} daemons run here; choose one with --address: {', '.join(living)}")
    return living[0]


def find_episode_server() -> str:
    """Return the address of the one server of episodes here. Raises NotAnswered for none, ClientError for several."""
    folders = [folder for folder in found(os.environ, sockets=(EPISODES,)) if lives(folder)]
    if not folders:
        raise NotAnswered("no server of episodes runs here (start one: nuc episode serve)")
    addresses = [f"ipc://{folder / EPISODES}" for folder in folders]
    if len(addresses) > 1:
        raise ClientError(
            f"{len(addresses)} servers of episodes run here; choose one with --address: {', '.join(addresses)}"
        )
    return addresses[0]
