"""An episode of a RunConfig, verified: its document, what its seed drew, every row of its log, and how it ended."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import tomllib
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, cast

import numpy as np

from nuc_engine.verify.files import COLUMNS, MANIFEST, compare_witness
from nuc_engine.verify.flight import FlightEquations
from nuc_engine.verify.logs import Report
from nuc_engine.verify.servos import Unverifiable
from nuc_engine.verify.surrogate import KIND, SurrogateEquations
from nuc_engine.verify.verdict import EPISODE, Verdict

RUN = "run.toml"
NEAR = 1e-12
"""How far a number may be from the computed one, as a share of it where it is larger than 1: roundings of one step."""

_STATE = ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s", "roll_rad", "pitch_rad", "yaw_rad")
_REFERENCE = ("x_m", "y_m", "z_m", "vx_m_s", "vy_m_s", "vz_m_s", "yaw_rad")
_CONTROL = ("roll_cmd_rad", "pitch_cmd_rad", "thrust_n", "yaw_rate_rad_s")
_CUT_OFF = ("running", "torn", "interrupted")


def verify_episode(folder: Path, manifest: Mapping[str, Any], changed: tuple[str, ...]) -> Verdict:
    """Verify the episode in a data directory. Raises Unverifiable where nothing can be computed."""
    report = Report()
    try:
        check = _EpisodeCheck(folder, manifest, report)
        check.files()
        check.document()
        compared, present = check.log()
    except Exception as error:  # whatever a damaged directory leads to, it is told, not died of
        why = f"its files do not fit one another ({type(error).__name__}: {error})"
        if not changed and not report.counts:
            raise Unverifiable(f"{folder}: {why}") from error
        told = (f"everything from there on: {why}",)
        return Verdict(changed, {}, dict(report.counts), tuple(report.differences), told)
    given = tuple(f"{MANIFEST}: {name}" for name in ("started", "stopped", "versions", "spec.labels"))
    counts, differences = dict(report.counts), tuple(report.differences)
    return Verdict(changed, {EPISODE: compared}, counts, differences, given, {EPISODE: present})


class _EpisodeCheck:
    """One directory being verified."""

    def __init__(self, folder: Path, manifest: Mapping[str, Any], report: Report) -> None:
        self.folder, self.manifest, self.report = folder, manifest, report
        self.spec: Mapping[str, Any] = manifest["spec"]
        self.state, self.reason = manifest["state"], manifest.get("reason", "")
        self.cut_off = self.state in _CUT_OFF or self.reason.startswith(("logging_failed:", "starved:"))
        self.data: Mapping[str, Any] = {}

    def differ(self, name: str, computed: object, found: object) -> None:
        """Note what the manifest says otherwise."""
        if computed != found:
            self.report.differ(MANIFEST, 0, None, name, computed, found)

    def files(self) -> None:
        """Note which files are missing, or have no sum."""
        for name in (RUN, COLUMNS, EPISODE):
            if not (self.folder / name).is_file():
                self.report.differ(name, 0, None, "file", "a file", "none")
            sums = self.manifest["inputs" if name == RUN else "files"]
            if name not in sums and not (self.cut_off and not sums):
                self.differ(f"files.{name}", "its sum", "none")
        compare_witness(self.manifest, (EPISODE,), self.report)

    def document(self) -> None:
        """Hold the resolved document, what was drawn, and the sums against run.toml."""
        data: dict[str, Any] = tomllib.loads((self.folder / RUN).read_text(encoding="utf-8"))
        changes = self._whole(self.spec["changes"])
        for key, value in changes.items():
            put(data, key, value)
            for name in [name for name in data.get("random", {}) if name == key or name.startswith(f"{key}.")]:
                del data["random"][name]
        seed = data.get("seed", 0)
        drawn = {key: draw(seed, key, one) for key, one in data.get("random", {}).items()}
        resolved = copy.deepcopy(data)
        for key, value in drawn.items():
            put(resolved, key, value)
        self.data = resolved
        parts = {part: content_sum(resolved[part]) for part in ("controller", "dynamics", "reference")}
        self.differ("spec.seed", seed, self.spec["seed"])
        self.differ("spec.drawn", drawn, self.spec["drawn"])
        self.differ("spec.resolved", resolved, self._whole(self.spec["resolved"]))
        self.differ("spec.sha256", {"resolved": content_sum(resolved), **parts}, self.spec["sha256"])
        self.differ("spec.system", resolved["system"], self.spec["system"])

    def _whole(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return a document with the weights that it names by their file, which the manifest must have a sum of."""
        whole = dict(document)
        table: Any = whole.get("controller")
        named: Any = table.get("weights") if isinstance(table, dict) else None
        if isinstance(named, dict):
            content = (self.folder / Path(named["file"]).name).read_bytes()
            self.differ(f"inputs.{named['file']}", named["sha256"], self.manifest["inputs"].get(named["file"]))
            if (found := hashlib.sha256(content).hexdigest()) != named["sha256"]:
                self.report.differ(named["file"], 0, None, "sha256", named["sha256"], found)
            whole["controller"] = {**table, "weights": base64.b64encode(content).decode()}
        return whole

    def log(self) -> tuple[int, int]:
        """Hold every row against the equations; return how many were compared, and are there."""
        surrogate = self.data["controller"]["kind"] == KIND
        equations = SurrogateEquations(self.data) if surrogate else FlightEquations(self.data)
        every: int = self.data.get("log", {}).get("every", 1)
        limiter = equations.limiter()
        names = ["t_s", *_STATE, *(f"ref_{name}" for name in _REFERENCE), *_CONTROL, *([limiter.mark] * limiter.there)]
        self._columns(names)
        rows, left = read_rows(self.folder / EPISODE, len(names))
        if left and not self.cut_off:
            self.report.differ(EPISODE, len(rows) + 1, None, "record", "its end, a whole row", f"{left} bytes")
        stops, why = self.data.get("stop", {}), ""
        state: Sequence[float] = equations.start()
        k, finite = 0, True
        while True:
            at, due = k // every, k % every == 0
            if due:
                if at >= len(rows):
                    break
                state = self._near(at, names, 1, state, rows[at])
            reference = equations.reference(equations.time(k))
            control, limited = limiter.next(equations.time(k), equations.control(state, reference))
            if due:
                computed = [equations.time(k), *state, *reference, *control, *([float(limited)] * limiter.there)]
                self._near(at, names, 0, computed, rows[at])
            why = stopped(stops, state) if k else ""
            if why or k == equations.steps:
                break
            new = equations.step(state, control)
            finite = math.isfinite(math.fsum(new)) if all(map(math.isfinite, new)) else False
            if not finite:
                break
            state, k = new, k + 1
        self._end(k, why, finite, equations)
        if len(rows) > k // every + 1:
            self.report.differ(EPISODE, k // every + 2, None, "record", "none", f"{len(rows) - k // every - 1} more")
        elif len(rows) < k // every + 1 and not self.cut_off:
            self.report.differ(EPISODE, len(rows) + 1, None, "record", "more", "none")
        return min(len(rows), k // every + 1), max(
            len(rows), self.manifest["counts"].get("records", {}).get(EPISODE, 0)
        )

    def _columns(self, names: Sequence[str]) -> None:
        columns: Any = json.loads((self.folder / COLUMNS).read_text(encoding="utf-8"))
        found = [column["name"] for column in columns["files"][EPISODE]["columns"]]
        if found != list(names):
            self.report.differ(COLUMNS, 0, None, "columns", ", ".join(names), ", ".join(found))

    def _near(
        self, at: int, names: Sequence[str], first: int, computed: Sequence[float], row: Sequence[float]
    ) -> Sequence[float]:
        """Note what of a row is not near what was computed; return the row's own numbers."""
        found = row[first : first + len(computed)]
        for k, (one, other) in enumerate(zip(computed, found, strict=True)):
            if not abs(one - other) <= NEAR * max(1.0, abs(one)):
                self.report.differ(EPISODE, at + 1, round(row[0] * 1e9), names[first + k], repr(one), repr(other))
        return found

    def _end(self, k: int, why: str, finite: bool, equations: FlightEquations) -> None:
        if self.cut_off:
            return
        state = "complete" if finite else "fault"
        self.differ("state", state, self.state)
        begin = f"stopped at {k * equations.dt:.9g} s: {why}" if why else "ran for the time asked for"
        begin = begin if finite else "diverged"
        if not self.reason.startswith(begin):
            self.differ("reason", begin, self.reason)
        self.differ("counts.steps", k, self.manifest["counts"].get("steps"))
        self.differ("engine_time_s", k * equations.dt, self.manifest.get("engine_time_s"))


def read_rows(path: Path, columns: int) -> tuple[list[Sequence[float]], int]:
    """Return the rows of a log, and how many bytes are left behind the last whole one."""
    content = path.read_bytes()
    left = len(content) % (8 * columns)
    numbers = array("d")
    numbers.frombytes(np.frombuffer(content[: len(content) - left], dtype="<f8").astype("=f8").tobytes())
    return [numbers[k : k + columns] for k in range(0, len(numbers), columns)], left


def stopped(stops: Mapping[str, float], state: Sequence[float]) -> str:
    """Return why a state ends an episode, as its reason says it; "" where it does not."""
    far, floor, tilt = (stops.get(key) for key in ("distance_m", "floor_m", "tilt_rad"))
    why = ""
    if far is not None and sum(number**2 for number in state[:3]) > far**2:
        why = f"further than {far:g} m from the origin"
    if floor is not None and state[2] < floor:
        why = f"below {floor:g} m"
    if tilt is not None and math.cos(state[6]) * math.cos(state[7]) < math.cos(tilt):
        why = f"tilted by more than {tilt:g} rad"
    return why


def draw(seed: int, key: str, one: Mapping[str, Sequence[float]]) -> float:
    """Return what a seed draws for a key: PCG64 of [seed, *sha256(key) as eight words], through the distribution."""
    digest = hashlib.sha256(key.encode()).digest()
    words = [int.from_bytes(digest[k : k + 4], "little") for k in range(0, 32, 4)]
    share = float(np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *words]))).random())
    if "normal" in one:
        bell = NormalDist(*one["normal"])
        low, high = one["within"]
        share = bell.cdf(low) + share * (bell.cdf(high) - bell.cdf(low))
        return float(low if share <= 0 else high if share >= 1 else min(max(bell.inv_cdf(share), low), high))
    if "log_uniform" in one:
        low, high = one["log_uniform"]
        return float(low * (high / low) ** share)
    low, high = one["uniform"]
    return float(low + share * (high - low))


def put(data: dict[str, Any], key: str, value: Any) -> None:
    """Put a value where its dotted key says."""
    *path, last = key.split(".")
    place: Any = data
    for name in path:
        place = place[int(name)] if isinstance(place, list) else place[name]
    if isinstance(place, list):
        cast(list[Any], place)[int(last)] = value
    else:
        place[last] = value


def content_sum(content: Any) -> str:
    """Return the sha256 of data as JSON with sorted keys and without spaces."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
