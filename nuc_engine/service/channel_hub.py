"""What every server of the channel has: clients, who of them has control, what happened, what requests wait for."""

from __future__ import annotations

from dataclasses import dataclass

from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import Clients, ConnectedClient
from nuc_engine.service.control import ControlLease
from nuc_engine.service.recent import Recent
from nuc_engine.service.waiting import Waiting


@dataclass(slots=True)
class ChannelHub:
    """What the methods of any server share."""

    waiting: Waiting
    clients: Clients
    control: ControlLease
    recent: Recent

    @property
    def now_ns(self) -> int:
        """CLOCK_MONOTONIC now."""
        return self.waiting.now_ns()

    def standing(self) -> tuple[str, str]:
        """Return what is in force and the mode, as whoever says hello is told them."""
        raise NotImplementedError

    def take_control(self, client: ConnectedClient) -> bool:
        """Make sure a client may change things; say whether it has got control just now. Raises Refused."""
        now_ns = self.now_ns
        holder = self.control.holder(now_ns)
        if holder == client.key:
            return False
        if holder is not None:
            who = self.clients.get(holder)
            name = who.author if who is not None else "another client"
            raise Refused("no_control", f"{name} has control", "ask for it, or take_control with force")
        self.control.take(client.key, now_ns)
        self.recent.add("control", f"{client.author} has control", client=client.name)
        return True

    def give_back(self, client: ConnectedClient) -> None:
        """Take control from a client that has it and wants it no more."""
        if self.control.release(client.key):
            self.recent.add("control", f"{client.author} gave control back", client="")

    def spares(self, client: ConnectedClient) -> bool:
        """Say whether a client has what a newcomer must not cost it: control."""
        return self.control.holder(self.now_ns) == client.key

    def on_client_gone(self, client: ConnectedClient) -> None:
        """End what belongs to a client that is gone."""
        if self.control.release(client.key):
            self.recent.add("control", f"{client.author} is gone and has control no more", client="")

    @property
    def in_control(self) -> str:
        """Name of the client in control, or nothing."""
        holder = self.control.holder(self.now_ns)
        client = None if holder is None else self.clients.get(holder)
        return "" if client is None else client.name
