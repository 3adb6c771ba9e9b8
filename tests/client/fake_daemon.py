"""A daemon of paper for tests of clients: the command channel over a real socket, a model, and values in a dict.

`FakeDaemon` serves in a thread; everything it was sent is kept in `requests`. Times are engine times of its own cycle
counter: every request that changes something takes one cycle of 5 ms.
"""

from __future__ import annotations

import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgpack
import zmq

from nuc_engine.bout.run import prepare_bout
from nuc_engine.configurations.describe import describe_model
from sccils_schemas.rules import And, Inequality, Or, Variable, parse_rule

CONFIGS = Path(__file__).resolve().parents[2] / "configs"


class Refusal(Exception):
    def __init__(self, kind: str, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.kind, self.text, self.hint = kind, text, hint


class Leg:
    """A model and its values; sensors are whatever a test says."""

    def __init__(self, config: str = "lin_roach") -> None:
        prepared = prepare_bout(str(CONFIGS / config), None)
        self.data = describe_model(prepared.model)
        self.hdsos = {h["name"]: h for h in (*self.data["parameters"], *self.data["sensors"])}
        self.values: dict[str, Any] = {
            name: h["by_name"] if "by_name" in h else h["value"] for name, h in self.hdsos.items()
        }
        self.actions = {j["name"]: j["start_state"]["name"] for j in self.data["joints"] if j["start_state"]}

    def name(self, ref: Any) -> str:
        for name, hdso in self.hdsos.items():
            if ref in (name, hdso["id"]) or (isinstance(ref, str) and ref.isdigit() and int(ref) == hdso["id"]):
                return name
        raise Refusal("not_found", f"there is no HDSO {ref}", "nuc ctl get --list names them")

    def value(self, name: str) -> Any:
        kind, _, rest = name.partition(".")
        what, _, which = rest.rpartition(".")
        if kind == "rule":
            return self.truth(rest)
        if kind == "joint":
            return self.actions.get(what) if which in ("state", "action") else None
        if kind == "muscle":
            return self.activation(what) if which == "activation" else 1.5
        if kind == "motor":
            return {"sent_raw": 127, "position_raw": 120, "current_raw": 7, "age_ms": 2.0, "status": 0}[which]
        return self.values[self.name(name)]

    def activation(self, muscle: str) -> float | None:
        for joint in self.data["joints"]:
            for state in joint["states"]:
                if state["name"] != self.actions.get(joint["name"]):
                    continue
                for activation in state["activations"]:
                    if activation["muscle"]["name"] == muscle:
                        return self.values[activation["parameters"][0]["name"]]
        return None

    def truth(self, rule: str) -> bool | None:
        return self._true(parse_rule(self.values[self.name(rule)]))

    def _true(self, rule: Any) -> bool | None:
        if isinstance(rule, Inequality):
            a, b = (_single(self.values[self.name(side.ref)]) for side in (rule.left, rule.right))
            return None if a is None or b is None else a < b if rule.op == "<" else a > b
        if isinstance(rule, Variable):
            return bool(self.values[self.name(rule.ref)])
        truths = [self._true(term) for term in rule.terms]
        if isinstance(rule, And):
            return all(truths)
        assert isinstance(rule, Or)
        return any(truths)


def _single(value: Any) -> float | None:
    return None if value is None else struct.unpack("f", struct.pack("f", value))[0]


class Clock:
    """A client's clock: stands still, so that nothing is ever late, until a test lets a second pass at every look."""

    def __init__(self) -> None:
        self.runs = False
        self._now_s = 0.0

    def __call__(self) -> float:
        self._now_s += self.runs
        return self._now_s


class FakeDaemon:
    """Answers requests. A test may change `answers[method]`, `silent`, `mode` and `leg` while it serves."""

    def __init__(self, leg: Leg | None = None) -> None:
        self.leg = leg or Leg()
        self.mode, self.off = "CONFIGURED", False
        self.bout, self.cycle = 0, 100
        self.control = ""
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.greeted: list[str] = []
        self.payloads: list[bytes] = []
        self.silent: set[str] = set()
        self.undone: list[tuple[str, Any]] = []
        self.kept: dict[str, dict[str, Any]] = {}
        self.edits: list[tuple[str, Any]] = []
        self.recording = ""
        self.labels: dict[str, str] = {}
        self.poses: dict[str, dict[str, float]] = {}
        self.sccils: list[bytes] = []
        self.telemetry = ""
        self.answers: dict[str, Callable[..., Any]] = {}
        self._author: dict[bytes, str] = {}
        self._received = threading.Condition()

    def wait_for(self, method: str) -> None:
        """Wait until such a request has come: nobody waits for the answer to a goodbye."""
        with self._received:
            self._received.wait_for(lambda: any(asked == method for asked, _ in self.requests))

    @property
    def sent(self) -> list[tuple[str, dict[str, Any]]]:
        """What was asked for, without hello and goodbye."""
        return [request for request in self.requests if request[0] not in ("hello", "leave")]

    def replies(self, sender: bytes, payload: bytes) -> list[bytes]:
        self.payloads.append(payload)
        if payload.startswith(b"<"):
            return list(self.sccils)
        request = msgpack.unpackb(payload)
        method, params = request["method"], request["params"]
        with self._received:
            self.requests.append((method, params))
            self._received.notify_all()
        if method in self.silent:
            return []
        head = {"id": request["id"]}
        try:
            if method == "hello":
                self._author[sender] = params["name"]
                self.greeted.append(params["name"])
            result = self.answers.get(method, getattr(self, f"do_{method}", self.unknown))(**params)
        except Refusal as error:
            told = {"kind": error.kind, "text": error.text, "hint": error.hint}
            return [msgpack.packb({**head, "ok": False, "error": told})]
        return [msgpack.packb({**head, "ok": True, "result": result})]

    def unknown(self, **params: Any) -> Any:
        raise Refusal("method", "no such method")

    def do_hello(self, name: str, role: str = "admin") -> Any:
        return {
            "engine": "nuc-engine 0.1.0",
            "configuration": self.leg.data["name"],
            "mode": self.mode,
            "author": name,
            "verified": False,
            "control": self.control,
        }

    def do_status(self) -> Any:
        running = self.mode == "RUNNING"
        return {
            "mode": self.mode,
            "configuration": self.leg.data["name"],
            "bout": self.bout if running else 0,
            "engine_time_s": self.cycle * 0.005 if running else None,
            "cycle": self.cycle,
            "latched": self.mode == "FAULT" or self.off,
            "latch_reason": "core_stalled" if self.mode == "FAULT" else "off" if self.off else "",
            "unconfirmed": [],
            "recording": self.recording,
            "torque": running,
            "control": self.control,
            "clients": [{"name": name, "role": "admin", "verified": False} for name in dict.fromkeys(self.greeted)],
            "losses": {"MOTOR": 0},
            "logging": {"folder": "data/bout_1" if running else "", "state": "on" if running else "off", "started": ""},
            "deaths": {"core": 0, "guardian": 0, "service": 0},
            "tasks": TASKS,
            "privileges_missing": ["SCHED_FIFO priority 50: not permitted"],
        }

    def do_tasks(self) -> Any:
        return TASKS

    def do_configurations(self) -> Any:
        return [{"name": "lin_roach", "fullname": "Cockroach", "description": ""}, {"name": "lin_stickmiddle"}]

    def do_configure(self, name: str, documents: Any = None) -> Any:
        if self.mode == "RUNNING":
            raise Refusal("mode", "a bout is running: stop it first")
        self.mode = "CONFIGURED"
        return {"name": name, "warnings": ["joints.xml:3: a remark"]}

    def do_documents(self) -> Any:
        return {"joints.xml": "<jointlist/>"}

    def do_model(self) -> Any:
        if self.mode == "UNCONFIGURED":
            raise Refusal("mode", "nothing is configured", "choose a configuration first: nuc ctl configure NAME")
        return self.leg.data

    def do_run(self, **params: Any) -> Any:
        if self.mode == "RUNNING":
            raise Refusal("mode", "a bout is running already: stop it first")
        self.mode, self.bout = "RUNNING", self.bout + 1
        self.labels.update(params.get("labels") or {})
        return {"bout": self.bout, "folder": f"data/bout_{self.bout}"}

    def do_stop(self, policy: str = "") -> Any:
        self.mode = "STOPPED" if self.mode == "RUNNING" else self.mode
        return {"bout": self.bout, "mode": self.mode, "policy": policy}

    def do_arm(self) -> Any:
        self.mode, self.off = ("STOPPED" if self.mode == "FAULT" else self.mode), False
        return {"mode": self.mode, "latched": False}

    def do_off(self, why: str = "asked for") -> Any:
        self.mode, self.off = "FAULT" if self.mode == "FAULT" else "STOPPED", True
        return {"mode": self.mode, "torque": False, "unconfirmed": []}

    def do_log(self, start_s: float = 0.0, stop_s: float = -1.0) -> Any:
        return {"state": "logging", "folder": "data/log_1"}

    def do_stoplog(self, stop_s: float | None = None) -> Any:
        return {"state": "logging", "folder": "data/log_1"}

    def do_get(self, names: list[Any]) -> Any:
        if self.mode == "UNCONFIGURED":
            raise Refusal("mode", "nothing is configured", "choose a configuration first: nuc ctl configure NAME")
        values: dict[str, Any] = {}
        unknown: list[str] = []
        for name in names:
            try:
                values[str(name)] = self.leg.value(str(name))
            except (Refusal, KeyError):
                unknown.append(str(name))
        return {"values": values, "unknown": unknown, "cycle": self.cycle, "time_s": self.cycle * 0.005}

    def do_set(self, changes: list[Any], time_s: float | None = None, back_after_s: float | None = None) -> Any:
        names = [self.leg.name(ref) for ref, _ in changes]
        if time_s is not None:
            return WAITS | {"pending": 7, "requests": [7]}
        for name, (_, value) in zip(names, changes, strict=True):
            valid = self.leg.hdsos[name]["ranges"].get("valid")
            if valid and isinstance(value, int | float) and valid["upper"] is not None and value > valid["upper"]:
                return self._done([], [{"name": name, "reason": f"above its valid range, to {valid['upper']:g}"}])
        for name, (_, value) in zip(names, changes, strict=True):
            self.edits.append((name, self.leg.values[name]))
            self.leg.values[name] = value
        done = self._done([{"name": n, "value": self.leg.values[n]} for n in names], [])
        return done if back_after_s is None else done | {"back": 9}

    def do_history(self) -> Any:
        def made(number: int, name: str, before: Any, after: Any) -> Any:
            change = {"what": "write", "name": name, "before": before, "after": after}
            return {"request": number, "author": "bob", "time_s": None, "cycle": 3, "changes": [change], "left_out": 0}

        done = [made(k, name, value, self.leg.values[name]) for k, (name, value) in enumerate(self.edits)]
        return {
            "done": done[::-1],
            "undone": [made(0, name, self.leg.values[name], v) for name, v in self.undone[::-1]],
        }

    def do_keep_values(self, name: str) -> Any:
        self.kept[name] = dict(self.leg.values)
        return self._kept(name)

    def do_kept_values(self) -> Any:
        return [self._kept(name) for name in self.kept]

    def do_recall_values(self, name: str) -> Any:
        if name not in self.kept:
            raise Refusal("not_found", f"nothing is kept as {name!r}")
        return self.do_set([(other, self.kept[name][other]) for other in self._kept(name)["differing"]])

    def _kept(self, name: str) -> Any:
        differing = [other for other, value in self.kept[name].items() if self.leg.values.get(other) != value]
        return {"name": name, "author": "bob", "unix_time_s": 1.0, "differing": differing}

    def do_script(self, text: str, offset: str = "start") -> Any:
        return WAITS | {"pending": 8, "requests": [8]}

    def do_pending(self) -> Any:
        return [{"request": 7, "time_s": 12.5, "author": "alice", "names": ["CTr_lev_TC1_load"]}]

    def do_forget(self, request: Any) -> Any:
        return {"forgotten": 1}

    def do_undo(self) -> Any:
        if not self.edits:
            raise Refusal("nothing", "there is nothing to undo")
        name, value = self.edits.pop()
        self.undone.append((name, self.leg.values[name]))
        self.leg.values[name] = value
        return self._done([{"name": name, "value": value}], [])

    def do_redo(self) -> Any:
        name, value = self.undone.pop()
        self.edits.append((name, self.leg.values[name]))
        self.leg.values[name] = value
        return self._done([{"name": name, "value": value}], [])

    def do_joint_mode(self, joint: str, mode: str) -> Any:
        return self._done([{"name": f"control of {joint}", "value": 0}], [])

    def do_tweak(self, joint: str, ticks: float) -> Any:
        return self._done([{"name": f"control of {joint}", "value": 0}], [])

    def do_pose(self, angles: Any = None, name: str = "", rate_deg_s: float | None = None) -> Any:
        if name and name not in self.poses:
            raise Refusal("not_found", f"there is no pose {name!r}", "nuc ctl pose list shows those there are")
        return self._done([{"name": f"target of {j}", "value": a} for j, a in (angles or self.poses[name]).items()], [])

    def do_pose_save(self, name: str) -> Any:
        self.poses[name] = {"Femur-Tibia": 90.0}
        return {"name": name, "angles": self.poses[name], "path": "data/poses.json"}

    def do_poses(self) -> Any:
        return self.poses

    def do_park(self, angles: Any = None, name: str = "", rate_deg_s: float = 20.0) -> Any:
        return {"angles": angles or self.poses[name], "rate_deg_s": rate_deg_s}

    def do_save(self, name: str, kind: str = "configuration", description: str = "", overwrite: bool = False) -> Any:
        return {"path": f"configs/{name}" if kind == "configuration" else f"scripts/{name}.xml", "kind": kind}

    def do_record_start(self, name: str) -> Any:
        self.recording = name
        return {"name": name}

    def do_record_stop(self, overwrite: bool = False) -> Any:
        name, self.recording = self.recording, ""
        if not name:
            raise Refusal("state", "nothing is being recorded", "nuc ctl record start NAME")
        return {"path": f"scripts/{name}.xml", "writes": 3, "left_out": 0}

    def do_mark(self, text: str) -> Any:
        return {"time_s": 1.0}

    def do_notes(self, text: str) -> Any:
        return {"text": text}

    def do_labels(self, labels: dict[str, str]) -> Any:
        self.labels.update(labels)
        return {"labels": labels}

    def do_subscribe(self, names: list[Any], rate_hz: float = 30.0) -> Any:
        fields = {}
        for name in names:
            found = self.leg.hdsos.get(str(name))
            fields[str(name)] = {"type": found["datatype"], "unit": found["unit"]} if found else "not found"
        return {"topic": "recipe.1", "fields": fields, "address": self.telemetry}

    def do_unsubscribe(self, topic: str) -> Any:
        return {"topic": topic}

    def do_events(self, since: Any = None) -> Any:
        text = "two rules of Coxa-Trochanter were true"
        event = {"seq": 3, "unix_time_s": 1e9, "time_s": 1.25, "name": "rule_overlap", "text": text}
        return [] if since else [event]

    def do_take_control(self, force: bool = False) -> Any:
        if self.control not in ("", self.greeted[-1]) and not force:
            raise Refusal("no_control", f"{self.control} has control", "ask them to hand it over")
        self.control = self.greeted[-1]
        return {"control": self.control}

    def do_hand_over(self, to: str) -> Any:
        self.control = to
        return {"control": to}

    def do_release_control(self) -> Any:
        self.control = ""
        return {"control": ""}

    def do_leave(self) -> Any:
        return {}

    def do_shutdown(self) -> Any:
        return {"mode": self.mode}

    def _done(self, applied: list[Any], refused: list[Any]) -> Any:
        self.cycle += 1
        return {"cycle": self.cycle, "time_s": self.cycle * 0.005, "applied": applied, "refused": refused}


WAITS: dict[str, Any] = {"cycle": 0, "time_s": None, "applied": [], "refused": []}

TASKS = {
    name: {
        "runs": 1000,
        "overruns": 0,
        "skipped": 0,
        "period_ns": {"last": period_ns, "min": period_ns, "max": period_ns + 40_000, "mean": float(period_ns)},
        "since_start": {
            "runs": 1000,
            "lateness_ns": {"p50": 12e3, "p99": 41e3, "max": 212e3},
            "execution_ns": {"p50": 80e3, "p99": 140e3, "max": 390e3},
        },
        "last_second": None,
    }
    for name, period_ns in (("motor_action", 5_000_000), ("state_transition", 25_000_000))
}


class Serving:
    """A FakeDaemon behind sockets, in a thread, until `stop`."""

    def __init__(self, daemon: FakeDaemon, address: str, telemetry: str = "") -> None:
        self.daemon = daemon
        self._context = zmq.Context()
        self._pub: Any = None
        if telemetry:
            daemon.telemetry = telemetry
            self._pub = self._context.socket(zmq.XPUB)
            self._pub.setsockopt(zmq.LINGER, 0)
            self._pub.bind(telemetry)
        # Connected before there is a thread: to send then never waits for it, and is lost where it has ended.
        self._stop, self._stopped = (self._context.socket(zmq.PAIR) for _ in range(2))
        self._stop.setsockopt(zmq.LINGER, 0)
        self._stop.bind("inproc://stop")
        self._stopped.connect("inproc://stop")
        self._router: Any = self._context.socket(zmq.ROUTER)
        self._router.setsockopt(zmq.LINGER, 0)
        # The service hears nothing of a client while the one before it with the same identity is on its way out, and
        # the client tries again; here that would take as long as a clock stands still.
        self._router.setsockopt(zmq.ROUTER_HANDOVER, 1)
        self._router.bind(address)
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def publish(self, topic: str, values: dict[str, Any], time_s: float) -> None:
        """Send one sample, after somebody has subscribed to its topic."""
        assert self._pub.recv() == b"\x01" + topic.encode()
        # A sample of another topic that begins alike must not be taken for one of this.
        self._pub.send_multipart([topic.encode() + b"0", msgpack.packb({"other": 1}), b"0"])
        self._pub.send_multipart([topic.encode(), msgpack.packb(values), str(time_s).encode()])

    def stop(self) -> None:
        # A daemon that ended with an error hears nothing any more.
        with suppress(zmq.Again):
            self._stop.send(b"", zmq.NOBLOCK)
        self._thread.join()
        self._stop.close()
        if self._pub is not None:
            self._pub.close()
        self._context.term()

    def _serve(self) -> None:
        router, stop = self._router, self._stopped
        poller = zmq.Poller()
        poller.register(router, zmq.POLLIN)
        poller.register(stop, zmq.POLLIN)
        try:
            while stop not in (ready := dict(poller.poll())):
                if router in ready:
                    sender, *_, payload = router.recv_multipart()
                    for reply in self.daemon.replies(sender, payload):
                        router.send_multipart([sender, reply])
        finally:
            # Also where an answer could not be made: whoever waits for it sees the connection end.
            router.close()
            stop.close()


@contextmanager
def serving(daemon: FakeDaemon, address: str, telemetry: str = "") -> Iterator[Serving]:
    server = Serving(daemon, address, telemetry)
    try:
        yield server
    finally:
        server.stop()


def main(address: str) -> None:
    """Serve a leg that moves by itself, to look at screens with."""
    leg = Leg()
    daemon = FakeDaemon(leg)
    get = daemon.do_get

    def moving(names: list[Any]) -> Any:
        daemon.cycle += 1
        phase = daemon.cycle % 20 / 10 - 1
        for name, hdso in leg.hdsos.items():
            if hdso["kind"] == "sensor" and hdso["unit"] == "deg":
                leg.values[name] = round(80 + 15 * phase, 2)
            elif hdso["kind"] == "sensor" and "tick" in hdso["unit"]:
                leg.values[name] = round(-1.5 * phase, 2)
        return get(names)

    daemon.answers["get"] = moving
    with serving(daemon, address):
        sys.stdout.write(f"{address}\n")
        threading.Event().wait()


if __name__ == "__main__":
    main(sys.argv[1])
