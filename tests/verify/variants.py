"""Bouts of every kind for `nuc verify`: short ones, on virtual time or by the daemon's core on a clock of paper.

run(Case("lin_roach", pause_ns=0, clock="real"), folder) -> the data directory
"""

from __future__ import annotations

import errno
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations, product
from pathlib import Path
from typing import Any

from nuc_engine import BoutSpec, run_bout
from nuc_engine.bout.run import open_leg, prepare_bout
from nuc_engine.configurations.adapt import adapt, write_adapted
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.modes import Mode
from nuc_engine.daemon.wire import CoreCommand, pack
from nuc_engine.datalogger.commits import inbox
from nuc_engine.datalogger.documents import DocumentStore, KeptDocuments
from nuc_engine.datalogger.events import EventLog
from nuc_engine.datalogger.keeper import LoggingSettings
from nuc_engine.datalogger.manifest import Context
from nuc_engine.datalogger.writer import LogWriter
from nuc_engine.machine.locations import find_configuration
from nuc_engine.model.changes import Changeset, JointControl, Trigger
from nuc_engine.model.planning import stored_values
from tests.daemon import cores

CONFIGS = (
    "lin_roach",
    "lin_stickmiddle",
    "lin_stickmiddle_minimal",
    "null_roach",
    "mag_roach",
    "null_stickmiddle",
    "pc_stickmiddle",
    "restricted_null_stick",
    "restricted_pc_stick",
    "turn_roach",
    "nerve_roach",
)
CLOCKS = ("virtual", "real")
PAUSES_NS = (0, 1, 2_000_000)
SHAKES = ("nothing", "alternating", "missed", "gradual", "periods")
"""What goes on besides stepping: commands that change their direction, replies that are missed, gradual edits, periods
and pauses that change in flight."""
NEWER = re.compile("@|<when|<sense")
"""What makes a script one of SCCILS 0.2."""
SERVOS = ("own", "fast")
"""The AI motors of the configuration, or STS3215 on a bus of 1 Mbit/s, as fast as it goes."""


@dataclass(frozen=True)
class Case:
    """One bout. `script` are elements of a script, `changes` texts of documents replaced, `files` beside them.

    `controls` (s, kind, joint, value) are for the daemon alone.
    """

    config: str
    clock: str = "virtual"
    pause_ns: int = 0
    servo: str = "own"
    shake: str = "nothing"
    seconds: float = 1.0
    bus: str = ""
    script: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    controls: tuple[tuple[float, str, int, float | str], ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The bus."""
        url = self.bus or {"own": "emulated:", "fast": "emulated:feetech"}[self.servo]
        return f"{url}{'&' if '?' in url else '?'}drop=0.02&flip=0.01" if self.shake == "missed" else url

    @property
    def name(self) -> str:
        pause = {0: "0", 1: "1ns", 2_000_000: "2ms"}.get(self.pause_ns, str(self.pause_ns))
        return f"{self.config}-{self.clock}-{pause}-{self.servo}-{self.shake}"


def run(case: Case, folder: Path) -> Path:
    """Run a bout; return its data directory, which is in `folder`."""
    config, script = documents(case, folder)
    if case.clock == "real":
        return _run_core(case, config, script, folder / "data")
    out, more = folder / "bout", case.more
    spec = BoutSpec(config=str(config), out=out, script=str(script), duration_s=case.seconds, bus=case.url, **more)
    run_bout(spec)
    return out


def documents(case: Case, folder: Path) -> tuple[Path, Path]:
    """Return a configuration of the case and its script, both in `folder`."""
    config = folder / case.config
    source = find_configuration(case.config)
    if case.servo == "fast":
        write_adapted(adapt(case.config, "STS3215"), config)
    else:
        config.mkdir(parents=True)
        for name in ("joints.xml", "parameters.xml", "sensors.xml"):
            (config / name).write_bytes((source / name).read_bytes())
        plant = source / "plant.toml"
        same = re.match(r'same_as = "(\w+)"', plant.read_text())
        (config / "plant.toml").write_bytes((source.parent / same[1] / "plant.toml" if same else plant).read_bytes())
    changes = [*case.changes]
    if case.servo == "fast":
        changes.append((r'cycleMin="[\d.]+"', 'cycleMin="1.2"'))
    for name in ("joints.xml", "parameters.xml", "sensors.xml"):
        text = (config / name).read_text()
        for pattern, new in changes:
            text = re.sub(pattern, new, text)
        (config / name).write_text(text)
    for name, text in case.files.items():
        (config / name).write_text(text)
    script = folder / "script.xml"
    entries = f'<hdsoMod idNum="1" NumElts="1" datatype="llint" time="0">{case.pause_ns}</hdsoMod>{case.script}'
    version = ' version="0.2"' if NEWER.search(case.script) else ""
    script.write_text(f"<hdsoscript{version}>{entries}{_shaking(case)}</hdsoscript>")
    return config, script


def _shaking(case: Case) -> str:
    """Return what makes a bout restless, as entries of a script."""
    thresholds = re.findall(r'<hdso name="(\w+(?:ang|load))" idNum="(10\d)"', _parameters(case.config))
    number = thresholds[0][1] if thresholds else "101"
    match case.shake:
        case "gradual":
            goals = ((number, 12.3), (102, -4.4))
            mods = "".join(f'<hdsoMod idNum="{each}" NumElts="1">{goal}</hdsoMod>' for each, goal in goals)
            return f'<gradual time="0.2" duration="0.5" steps="37">{mods}</gradual>'
        case "periods":
            times = [
                (0.1, 2, 9_700_001), (0.2, 1, 3_000_000), (0.3, 2, 31_000_000), (0.301, 2, 1_000_000),
                (0.4, 2, 25_000_000), (0.45, 1, 7), (0.5, 1, 5_168_000),
            ]  # fmt: skip
            return "".join(
                f'<hdsoMod idNum="{number}" NumElts="1" datatype="llint" time="{time}">{value}</hdsoMod>'
                for time, number, value in times
            )
        case "alternating":
            ids = re.findall(r'<muscle_activation muscle="\d+"[^>]*activation_parameters="(\d+)"', _joints(case.config))
            return "".join(
                f'<hdsoMod idNum="{ids[(k + j) % len(ids)]}" NumElts="1" time="{0.05 + 0.02 * k}">{value}</hdsoMod>'
                for k in range(40)
                for j, value in enumerate((0.0, 1.5))
            )
        case _:
            return ""


def _parameters(config: str) -> str:
    return (find_configuration(config) / "parameters.xml").read_text()


def _joints(config: str) -> str:
    return (find_configuration(config) / "joints.xml").read_text()


class PaperDaemon(cores.Bench):
    """The daemon's core on a clock of paper, with the service's logger writing down what it tells."""

    def __init__(self, config: Path, bus: str, data: Path, cost_ns: int = 0, **options: Any) -> None:
        # Its servos have to be of the family of the bus: the plan is made for that.
        families = {"": "feetech" if "feetech" in bus else "aimotor"}
        prepared = prepare_bout(str(config), None, config.name, families=families)

        def wiring(_: Any) -> Any:
            return prepared.plan, open_leg(prepared.plan, config, bus, 1)[1]

        super().__init__(str(config), wiring=wiring, **options)
        self.clock.cost_ns = cost_ns
        self.words[Word.CORE_PID] = 4242
        self.data, self.requests = data, 0
        names = [path.name for path in config.iterdir()]
        told = KeptDocuments(config.name, {name: (config / name).read_bytes() for name in names})
        documents = DocumentStore(data)
        options = {"limits": options.get("limits", {}), "approach_deg_s": self.core.options.approach_deg_s}
        wall = datetime(2031, 5, 6, tzinfo=UTC)
        context = Context({"": bus}, options, lambda: {"engine": "0"}, lambda: wall, sync=False, kernel=_mute)
        log = EventLog(io.StringIO())
        self._tell("documents", documents.keep(told))
        self.writer = LogWriter(self.block, LoggingSettings(data, True, {}), context, documents, log, lambda: None)

    def _tell(self, what: str, *fields: Any) -> None:
        assert inbox(self.block).put(0, pack(what, self.block.rings["records"].written, self.clock.now_ns, *fields))

    def edit(self, changeset: Changeset, at_ns: int) -> None:
        """Send a changeset for an engine time; -1: at once."""
        self.requests += 1
        self._tell("author", 1000 + self.requests, "Ann", 1)
        writes = [[w.hdso, list(w.values)] for w in changeset.writes]
        controls = [[c.what, c.joint, c.value] for c in changeset.controls]
        put = self.core.commands.put(CoreCommand.CHANGESET, pack(1000 + self.requests, at_ns, writes, controls))
        assert put

    def trigger(self, trigger: Trigger, at_ns: int) -> None:
        """Send a trigger that is armed at an engine time."""
        self.requests += 1
        self._tell("author", 1000 + self.requests, "Ann", 1)
        t, writes = trigger, [[w.hdso, list(w.values)] for w in trigger.writes]
        row = [t.rule, t.holds_ns, t.after_ns, t.until_ns, t.times, t.refractory_ns, writes]
        fields = pack(1000 + self.requests, at_ns, [], [], [row])
        assert self.core.commands.put(CoreCommand.CHANGESET, fields)

    def stored(self, number: int, value: float | str) -> tuple[float, ...]:
        """Return a value as the store holds it."""
        ids = {hdso.name: hdso.id_num for hdso in self.plan.hdsos}
        return stored_values(self.plan.hdso(number), value if isinstance(value, str) else (value,), ids)

    def run(self, seconds: float) -> None:
        """Let the core work, and the logger after it."""
        super().run(seconds)
        self.log()

    def log(self) -> None:
        while self.writer.step(self.clock.now_ns):
            pass

    def begin(self) -> None:
        """Begin a bout as soon as every servo has answered."""
        for _ in range(100):
            if self.mode is Mode.RUNNING:
                return
            self.order(CoreCommand.RUN, 0, -1, 1)
            super().run(0.03)
        raise AssertionError(f"no bout began: {self.mode}")

    def end(self) -> Path:
        """End the bout where it has not ended; return its directory, complete."""
        self.order(CoreCommand.STOP, "off")
        self.run(0.3)
        self.clock.now_ns += 2_000_000_000
        self.log()
        (folder,) = [path for path in self.data.iterdir() if path.name != ".nuc"]
        return folder


def _mute() -> int:
    """Let the kernel say nothing: what it says now is no part of a bout on paper."""
    raise OSError(errno.EPERM, "no kernel on paper")


def _run_core(case: Case, config: Path, script: Path, data: Path) -> Path:
    families = {"": "feetech" if "feetech" in case.url else "aimotor"}
    changesets = prepare_bout(str(config), str(script), families=families).changesets
    daemon = PaperDaemon(config, case.url, data, **case.more)
    for changeset in changesets:
        daemon.edit(changeset, changeset.time_ns)
    for time_s, *control in case.controls:
        daemon.edit(Changeset(0, (), controls=(JointControl(*control),)), round(time_s * 1e9))
    daemon.begin()
    daemon.run(case.seconds)
    return daemon.end()


def writes(number: int, values: Sequence[float]) -> str:
    """Return writes of an HDSO, one every 50 ms from 0.2 s on, as entries of a script."""
    return "".join(
        f'<hdsoMod idNum="{number}" NumElts="1" time="{0.2 + 0.05 * k:.2f}">{value}</hdsoMod>'
        for k, value in enumerate(values)
    )


def _hdso(number: int, name: str, value: str, size: int = 1, datatype: str = "float", more: str = "") -> str:
    dims = f'<dimsize dimNr="1">{size}</dimsize>'
    initial = f"<initial_data>{value}</initial_data>" if value else ""
    return f'<hdso idNum="{number}" name="{name}" datatype="{datatype}" numdims="1" {more}>{dims}{initial}</hdso>'


_RULE = (
    '<hdso idNum="169" name="loaded" abstractType="boolstring" datatype="int" xmltype="char" numdims="2">'
    '<dimsize dimNr="1">2</dimsize><dimsize dimNr="2">30</dimsize><initial_data>TC1_current &gt; FT_ext_TC1_load'
    "</initial_data></hdso>"
)
_MORE = (
    _hdso(140, "fv", "0.4 1", 2)
    + _hdso(141, "ps", "3 -3.1", 2)
    + _hdso(142, "k1", "0.1 0.9 0.3 60 120", 5)
    + _hdso(143, "k2", "0.05 0.3 0.1 40 90", 5, "double")
    + _hdso(196, "dwell", "45000000", 1, "llint")
    + _hdso(197, "label", "hop &amp; go", 12, "char", 'xmltype="char"')
    + _hdso(198, "blank", "", 2)
    + _RULE
)
ZOO = (
    # Every type of function, velocity, kernels of one and of two sensors, dwell, rules inside rules and rules that
    # hold together, readings that wrap round. All in the cockroach's documents.
    (r'<hdso idNum="190"', f'{_MORE}<hdso idNum="190"'),
    (r'type="linear"( use="force-length">\s*<hdsoMod idNum="172" NumElts="2">)2 -1.5</hdsoMod>',
     r'type="parabolic"\g<1>-2 1</hdsoMod><hdsoMod idNum="191" NumElts="0"/>'),
    (r'type="linear"( use="force-length">\s*<hdsoMod idNum="174" NumElts="2">)2 -1.5</hdsoMod>',
     r'type="hyperbolic"\g<1>0.4 0.3</hdsoMod><hdsoMod idNum="190" NumElts="0"/>'),
    (r'(idNum="175" NumElts="2">2 -1.5</hdsoMod>\s*</function_spec>\s*<function_spec type=")constant(" '
     r'use="force-velocity">\s*)<hdsoMod idNum="191" NumElts="0"/>', r'\1linear\2<hdsoMod idNum="140" NumElts="0"/>'),
    (r'(name="Tibia_Extensor"(?:.|\n)*?<function_spec type=")constant(" use="passive_stiffness">\s*)'
     r'<hdsoMod idNum="190" NumElts="0"/>', r'\1linear\2<hdsoMod idNum="141" NumElts="0"/>'),
    (r'muscle="403" activation_function="constant" activation_parameters="127">((?:.|\n)*?)<hdsoMod idNum="127" '
     r'NumElts="1">0.55</hdsoMod>', 'muscle="403" activation_function="linear" activation_sensors="FT_angle" '
     'activation_parameters="k1"><hdsoMod idNum="307" NumElts="0"/><hdsoMod idNum="142" NumElts="0"/>'),
    (r'muscle="406" activation_function="constant" activation_parameters="130">((?:.|\n)*?)<hdsoMod idNum="130" '
     r'NumElts="1">1.0</hdsoMod>', 'muscle="406" activation_function="bilinear" activation_sensors="307, 305" '
     'activation_parameters="142 143"><hdsoMod idNum="307" NumElts="0"/><hdsoMod idNum="305" NumElts="0"/>'
     '<hdsoMod idNum="142" NumElts="0"/><hdsoMod idNum="143" NumElts="0"/>'),
    (r'(idNum="20[35]">(?:.|\n)*?<hdsoMod idNum=")194"', r'\g<1>196"'),
    (r'boolstring="\(302 &gt; 106\)&amp;', 'boolstring="loaded &amp; '),
    (r'boolstring="302 &gt; 102"', 'boolstring="((302 &gt; 102)|(307&gt;105)&amp;(305&lt;104))&amp;191"'),
    (r'(name="TC1_angle"(?:.|\n)*?<bound type="upper">)255', r"\g<1>2"),
)  # fmt: skip


MATRIX = [
    Case(config, clock, pause_ns, servo, shake)
    for config, clock, pause_ns, servo, shake in product(CONFIGS, CLOCKS, PAUSES_NS, SERVOS, SHAKES)
]
"""Everything with everything."""


def pairs(case: Case) -> set[tuple[str, object, str, object]]:
    """Return what a case has together with what."""
    factors = {name: getattr(case, name) for name in ("config", "clock", "pause_ns", "servo", "shake")}
    return {(a, factors[a], b, factors[b]) for a, b in combinations(factors, 2)}


def pairwise_cover() -> list[Case]:
    """Return cases of the matrix in which every two factors have all their values together at least once."""
    ahead = set().union(*map(pairs, MATRIX))
    chosen: list[Case] = []
    while ahead:
        chosen.append(max(MATRIX, key=lambda case: len(pairs(case) & ahead)))
        ahead -= pairs(chosen[-1])
    return chosen
