"""What keeps the screen `tune` and the daemon in step: the screen's state is pure, and so are the lines drawn of it."""

from __future__ import annotations

from dataclasses import replace

from nuc_engine.cli.ctl import tuning
from nuc_engine.cli.ctl.link import Target, act
from nuc_engine.cli.ctl.sheet import make_sheet
from nuc_engine.cli.ctl.tuning import Screen
from nuc_engine.cli.ctl.watching import STATUS_EVERY
from nuc_engine.client import Client, ClientError, NotAnswered


class Tune:
    """One joint being tuned. Raises ClientError and KeyError (no such joint) when it is made, never afterwards."""

    def __init__(self, client: Client, target: Target, joint: str) -> None:
        self._client, self._target, self._joint = client, target, joint
        status = client.status()
        self._configuration = status.configuration
        self.screen = tuning.told(Screen(make_sheet(client.model(), joint)), status)
        self._refreshes = 0
        self._read()

    def refresh(self) -> None:
        """Look at the leg again."""
        self._refreshes += 1
        try:
            if self.screen.offline or self._refreshes % STATUS_EVERY == 0:
                self._state()
            self._read()
        except (ClientError, KeyError) as error:
            self.screen = tuning.lost(self.screen, _said(error))

    def key(self, key: str) -> None:
        """Take one key, and do what it asks for."""
        self.screen, calls = tuning.press(self.screen, key)
        for call in calls:
            try:
                result = act(self._client, self._target, self._client.do, call)
            except NotAnswered as error:
                self.screen = tuning.lost(tuning.not_done(self.screen, call, str(error)), str(error))
            except ClientError as error:
                self.screen = tuning.not_done(self.screen, call, str(error))
            else:
                self.screen = tuning.acknowledged(self.screen, call, result)

    def _state(self) -> None:
        """Ask how the daemon is; one that was away, or has another configuration now, has another model to show."""
        status = self._client.status()
        if self.screen.offline or status.configuration != self._configuration:
            sheet = make_sheet(self._client.model(), self._joint)
            self._configuration = status.configuration
            self.screen = replace(self.screen, sheet=sheet, values={}, awaiting={})
        self.screen = tuning.told(self.screen, status)

    def _read(self) -> None:
        names = self.screen.sheet.names(self.screen.values)
        self.screen = tuning.read(self.screen, self._client.get(names))
        # Which operands there are is known only once the rules have been read.
        after = self.screen.sheet.names(self.screen.values)
        if set(after) - set(names):
            self.screen = tuning.read(self.screen, self._client.get(after))


def _said(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
