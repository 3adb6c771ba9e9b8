"""Messages of the command sockets, taken from whoever may send them to whatever does them, and answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from nuc_engine.messages.errors import Refused
from nuc_engine.service.access import Access
from nuc_engine.service.channel import Message, ReadySockets, Sockets
from nuc_engine.service.channel_hub import ChannelHub
from nuc_engine.service.clients import ANONYMOUS, ConnectedClient
from nuc_engine.service.dispatch import MethodTable, serve
from nuc_engine.service.pack import pack_answer
from nuc_engine.service.sccils_documents import response

MESSAGES_NS = 10_000_000
"""How long messages are taken in one turn; the others come next time."""

_SHORT = 1024
_TOO_FAST = Refused("too_fast", "too many messages", "wait for answers")


class SccilsSide(Protocol):
    """One client's side of a SCCILS dialogue."""

    def take(self, payload: bytes) -> None:
        """Take one document."""
        ...

    def refuse(self, reason: str) -> None:
        """Take none, and say so."""
        ...


SccilsMaker = Callable[[ConnectedClient, Callable[[bytes], None]], SccilsSide]


class Desk:
    """Clients, their budgets and roles, and what they send. `sccils` begins a dialogue, where the server has any."""

    def __init__(
        self,
        hub: ChannelHub,
        table: MethodTable,
        sockets: Sockets,
        access: Access,
        sccils: SccilsMaker | None = None,
    ) -> None:
        self._hub, self._table, self._sockets, self._access, self._sccils = hub, table, sockets, access, sccils
        self._guest = ConnectedClient(b"", [], ANONYMOUS, "watch", False)

    def take_messages(self, ready: ReadySockets, until_ns: int) -> None:
        """Take what has come, one message at least, until a moment."""
        for message in self._sockets.messages(ready):
            try:
                self._take(message)
            except MemoryError:
                raise  # a new process has some
            except Exception as error:  # one message must not take the service from all others
                self._hub.recent.add("service_error", f"a message: {type(error).__name__}: {error}")
            if self._hub.now_ns >= until_ns:
                break

    def _take(self, message: Message) -> None:
        now_ns = self._hub.now_ns
        hub = self._hub
        try:
            client = hub.clients.sender(message.key, message.address, message.who, now_ns, message.peer)
        except Refused as error:
            self._turn_away(message, error, now_ns)
            return
        if not client.spend(now_ns, len(message.payload or b"")):
            always = self._table.always.encode()
            if always and len(message.payload or b"") <= _SHORT and always in (message.payload or b""):
                self._turn_away(message, _TOO_FAST, now_ns)
            elif client.refused % 1000 == 1:
                self._complain(client, _TOO_FAST)
            return
        hub.control.note_message(client.key, now_ns)
        if message.payload is None:
            client.rubbish += 1
            self._complain(client, Refused("bad_request", "a message is one frame", "send the payload as one frame"))
        elif self._sccils is not None and _is_document(message.payload):
            self._session(client, self._sccils).take(message.payload)
        else:
            address = list(client.address)
            serve(hub, self._table, client, message.payload, lambda answer: self._send(client, address, answer))

    def _turn_away(self, message: Message, error: Refused, now_ns: int) -> None:
        """Refuse who there is no room for, but do what is always done."""
        guest, payload = self._guest, message.payload or b""
        guest.key, guest.address = message.key, message.address
        if not guest.spend(now_ns):
            return

        def send(answer: bytes) -> None:
            self._sockets.send(message.key, message.address, answer)

        if self._sccils is not None and payload.lstrip()[:1] == b"<":
            always = len(payload) <= _SHORT and f'"{self._table.always}"'.encode() in payload
            session = self._sccils(guest, send)
            session.take(payload) if always else session.refuse(str(error))
        else:
            serve(self._hub, self._table, guest, payload, send, only=error)

    def see_to_keys(self) -> None:
        """Part with clients whose key is no longer on the list, and follow roles that have changed there."""
        hub = self._hub
        verified = [client for client in hub.clients if client.verified]
        known = {name: self._access.who(name) for name in {client.name for client in verified}}
        for client in verified:
            who = known[client.name]
            if who is None:
                self._complain(client, Refused("not_allowed", "your key was taken off the list"))
                hub.recent.add("revoked", f"{client.author}: its key was taken off the list", client=client.name)
                hub.clients.drop(client)
                continue
            hub.clients.limit(client, who[1])
            if not client.may("operate") and hub.control.release(client.key):
                hub.recent.add("control", f"{client.author} may only watch now", client="")

    def connections(self) -> dict[str, int]:
        """Return what was counted of connections."""
        sockets = self._sockets
        return {
            "closed": sockets.connections.closed,
            "turned_away": sockets.connections.turned_away,
            "failed_handshakes": sockets.failed_handshakes,
            "keys_refused": self._access.denied,
            "answers_dropped": sockets.dropped,
        }

    def _session(self, client: ConnectedClient, sccils: SccilsMaker) -> SccilsSide:
        if client.session is None:
            client.session = sccils(client, lambda answer: self._send(client, client.address, answer))
        session: SccilsSide = client.session
        return session

    def _send(self, client: ConnectedClient, address: list[bytes], answer: bytes) -> None:
        client.charge(len(answer))
        self._sockets.send(client.key, address, answer)

    def _complain(self, client: ConnectedClient, error: Refused) -> None:
        if client.session is not None:
            self._sockets.send(client.key, client.address, response("fail", text=str(error)))
            return
        said: dict[str, Any] = {"kind": error.kind, "text": error.text, "hint": error.hint}
        self._sockets.send(client.key, client.address, pack_answer({"id": None, "ok": False, "error": said}))


def _is_document(payload: bytes) -> bool:
    return payload.lstrip()[:1] == b"<" or payload.startswith(b"\xef\xbb\xbf<")
