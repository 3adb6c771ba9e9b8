"""plant.toml: what a leg is made of, and the world it stands in.

Everything the configuration's XML does not say about a robot's mechanics stands in a `plant.toml` beside it: masses,
motors, gearbox, foot, ground, start pose, and how much bouts differ from each other. Units are part of the keys. The
file is read whole; everything wrong in it is reported in one go, as `file: key: what is wrong, what was expected`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeVar, cast

from nuc_engine.plants.overrides import override

MOST_BYTES = 1 << 18
"""Of a plant.toml. Reading TOML takes seconds for each MiB where somebody means it to."""

CurrentModel = Literal["back_emf", "supply"]
"""Which current the servo's meter sees: the one in the motor's winding, or the one drawn from the supply."""

LEVELS = 5
"""A servo's torque levels: 0 is the strongest, 4 the weakest."""

Solver = Literal["Newton", "CG", "PGS"]
"""MuJoCo's constraint solvers."""

DEFAULT_SOFT_S = 0.02
"""Time constant of contacts and stops where a description names none: MuJoCo's own."""

NO_OVERRIDES: Mapping[str, float] = MappingProxyType({})

_T = TypeVar("_T")


class PlantSpecError(ValueError):
    """A plant.toml cannot be used; `problems` holds one line for each thing that is wrong."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        """Join the problems, one per line."""
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class MotorSpec:
    """One motor type at the gearbox's output: no-load speed, stall torque, stall current.

    `current_loop` as of `drivers.servo.ServoModel`: its electronics regulate the motor's current.
    """

    omega0_rad_s: float
    stall_torque_n_m: float
    stall_current_a: float
    current_loop: bool = False


@dataclass(frozen=True, slots=True)
class ServoSpec:
    """The servo around the motor: position loop, gearbox and current meter.

    The loop's duty is the position error divided by `saturation_ticks`, limited to the torque cap of the level in
    force (`torque_cap_by_level`, fractions of the stall torque). `damping_scale` multiplies the back-EMF damping
    stall torque / no-load speed. The meter shows nothing for the first `dead_ticks` ticks of current. With
    `foot_ticks_n` above 0 every meter shows that many ticks for each newton with which the ground presses the foot, and
    nothing of its motor: what a sensor in the foot would tell, without noise.
    """

    tick_deg: float
    saturation_ticks: float
    torque_cap_by_level: tuple[float, ...]
    damping_scale: float
    frictionloss_n_m: float
    armature_kg_m2: float
    current_model: CurrentModel
    current_tick_a: float
    dead_ticks: float
    foot_ticks_n: float = 0.0


@dataclass(frozen=True, slots=True)
class GeometryOverride:
    """Numbers of one Denavit-Hartenberg line that differ from the configuration's (None: as there), and why."""

    a_cm: float | None
    d_cm: float | None
    alpha_deg: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class FlexSpec:
    """A joint's link gives way about its own long axis: a passive hinge where its Denavit-Hartenberg line has alpha.

    Nothing measures it. It turns by `rest_deg` from the line's alpha when no moment acts on it, and from there by
    moment / `stiffness_n_m_rad`.
    """

    rest_deg: float
    stiffness_n_m_rad: float
    damping_n_m_s_rad: float


@dataclass(frozen=True, slots=True)
class JointSpec:
    """The segment behind one joint: its own mass, the mass at its far end, and the joint's angle at the start.

    `stop_deg` are the lowest and the highest angle the segments let it have; None: all the servo's scale has.
    """

    link_mass_g: float
    tip_mass_g: float
    start_deg: float
    override: GeometryOverride | None
    stop_deg: tuple[float, float] | None = None
    flex: FlexSpec | None = None


@dataclass(frozen=True, slots=True)
class WorldSpec:
    """Ground, foot and time step. `base_height_cm` is the height of the first joint above the ground.

    `contact_soft_s` and `stop_soft_s` are the time constants with which the ground and joints' stops push back.
    """

    base_height_cm: float
    friction: float
    foot_mass_g: float
    foot_radius_mm: float
    timestep_us: int
    contact_soft_s: float = DEFAULT_SOFT_S
    stop_soft_s: float = DEFAULT_SOFT_S
    solver: Solver = "Newton"


@dataclass(frozen=True, slots=True)
class VariationSpec:
    """How much bouts differ by their seed.

    `start_pose_deg` and `friction_fraction` are half widths of uniform distributions (the second as a fraction of
    the ground's friction); the noises are standard deviations of normal distributions, in the meters' ticks.
    """

    start_pose_deg: float
    friction_fraction: float
    position_noise_ticks: float
    current_noise_ticks: float


@dataclass(frozen=True, slots=True)
class PlantSpec:
    """A whole plant.toml. `joints` is by joint name, `motors` by model number as text (`701`)."""

    source: str
    world: WorldSpec
    servo: ServoSpec
    motors: Mapping[str, MotorSpec]
    joints: Mapping[str, JointSpec]
    variation: VariationSpec


def load_spec(path: Path, overrides: Mapping[str, float] = NO_OVERRIDES) -> PlantSpec:
    """Read a plant.toml, or the one it stands for, with numbers replaced by their dotted keys.

    Raises PlantSpecError with everything that is wrong.
    """
    path = spec_file(path)
    data, problems = override(_read_toml(path), overrides, str(path))
    try:
        spec = parse_spec(data, str(path))
    except PlantSpecError as error:
        raise PlantSpecError((*problems, *error.problems)) from error
    if problems:
        raise PlantSpecError(tuple(problems))
    return spec


def spec_file(path: Path) -> Path:
    """Return the file that describes the plant: `path`, or what its `same_as` stands for.

    `same_as = "NAME"`, alone in a file, names the configuration folder beside this one whose plant.toml it shares.
    Raises PlantSpecError when a file cannot be read, or the file named does not describe the plant itself.
    """
    data = _read_toml(path)
    if "same_as" not in data:
        return path
    other = _same_as(data, path)
    if "same_as" in _read_toml(other):
        raise PlantSpecError((f"{other}: same_as: stands in a file that {path} refers to; expected the plant itself",))
    return other


def _same_as(data: Mapping[str, Any], path: Path) -> Path:
    """Return the file a `same_as` stands for; refuse anything but a bare configuration name standing alone."""
    name = data["same_as"]
    if len(data) > 1:
        others = ", ".join(sorted(set(data) - {"same_as"}))
        raise PlantSpecError((f"{path}: same_as: stands beside {others}; expected it alone",))
    if not isinstance(name, str) or not name or Path(name).name != name or name == "..":
        raise PlantSpecError(
            (f"{path}: same_as: {name!r}; expected the name of a configuration folder beside this one",)
        )
    return path.parent.parent / name / path.name


def _read_toml(path: Path) -> dict[str, Any]:
    """Return the file's top table. Raises PlantSpecError with the file's name in it."""
    try:
        with path.open("rb") as stream:
            return toml_table(stream.read(MOST_BYTES + 1), str(path))
    except OSError as error:
        raise PlantSpecError((f"{path}: cannot be read ({error.strerror}); expected a plant description",)) from error


def toml_table(text: bytes, source: str) -> dict[str, Any]:
    """Return the top table of a document of at most MOST_BYTES. Raises PlantSpecError."""
    if len(text) > MOST_BYTES:
        raise PlantSpecError((f"{source}: has more than {MOST_BYTES:,} bytes; expected a plant description",))
    try:
        return tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PlantSpecError((f"{source}: {error}; expected TOML",)) from error
    except (RecursionError, ValueError) as error:
        raise PlantSpecError((f"{source}: is nested too deeply, or has a number that is too long",)) from error


def parse_spec(data: Mapping[str, Any], source: str) -> PlantSpec:
    """Turn the top table of a plant.toml into a PlantSpec. Raises PlantSpecError with everything that is wrong."""
    top = _Table(source, "", data, [])
    spec = PlantSpec(
        source=source,
        world=_world(top.table("world")),
        servo=_servo(top.table("servo")),
        motors={name: _motor(table) for name, table in top.tables("motor")},
        joints={name: _joint(table) for name, table in top.tables("joint")},
        variation=_variation(top.table("variation")),
    )
    top.close()
    if top.problems:
        raise PlantSpecError(tuple(top.problems))
    return spec


def _world(table: _Table) -> WorldSpec:
    spec = WorldSpec(
        base_height_cm=table.number("base_height_cm", 0.0, 1000.0),
        friction=table.number("friction", 0.0, 10.0),
        foot_mass_g=table.number("foot_mass_g", 0.01, 1e6),
        foot_radius_mm=table.number("foot_radius_mm", 0.1, 1000.0),
        timestep_us=table.integer("timestep_us", 10, 10_000),
        contact_soft_s=table.number("contact_soft_s", 0.002, 1.0, default=DEFAULT_SOFT_S),
        stop_soft_s=table.number("stop_soft_s", 0.002, 1.0, default=DEFAULT_SOFT_S),
        solver=cast(Solver, table.word("solver", ("Newton", "CG", "PGS"), default="Newton")),
    )
    table.close()
    return spec


def _servo(table: _Table) -> ServoSpec:
    spec = ServoSpec(
        tick_deg=table.number("tick_deg", 1e-3, 10.0),
        saturation_ticks=table.number("saturation_ticks", 0.1, 10_000.0),
        torque_cap_by_level=table.caps("torque_cap_by_level"),
        damping_scale=table.number("damping_scale", 0.0, 100.0),
        frictionloss_n_m=table.number("frictionloss_n_m", 0.0, 10.0),
        armature_kg_m2=table.number("armature_kg_m2", 0.0, 1.0),
        current_model=cast(CurrentModel, table.word("current_model", ("back_emf", "supply"))),
        current_tick_a=table.number("current_tick_a", 1e-6, 10.0),
        dead_ticks=table.number("dead_ticks", 0.0, 255.0),
        foot_ticks_n=table.number("foot_ticks_n", 0.0, 1000.0, default=0.0),
    )
    table.close()
    return spec


def _motor(table: _Table) -> MotorSpec:
    spec = MotorSpec(
        omega0_rad_s=table.number("omega0_rad_s", 0.01, 1000.0),
        stall_torque_n_m=table.number("stall_torque_n_m", 1e-4, 1000.0),
        stall_current_a=table.number("stall_current_a", 1e-3, 1000.0),
    )
    table.close()
    return spec


def _joint(table: _Table) -> JointSpec:
    spec = JointSpec(
        link_mass_g=table.number("link_mass_g", 0.01, 1e6),
        tip_mass_g=table.number("tip_mass_g", 0.0, 1e6),
        start_deg=table.number("start_deg", -360.0, 360.0),
        override=_override(table.table("override")) if table.has("override") else None,
        stop_deg=table.span("stop_deg", -360.0, 360.0) if table.has("stop_deg") else None,
        flex=_flex(table.table("flex")) if table.has("flex") else None,
    )
    table.close()
    return spec


def _flex(table: _Table) -> FlexSpec:
    spec = FlexSpec(
        rest_deg=table.number("rest_deg", -90.0, 90.0),
        stiffness_n_m_rad=table.number("stiffness_n_m_rad", 0.01, 1e3),
        damping_n_m_s_rad=table.number("damping_n_m_s_rad", 0.0, 1e3),
    )
    table.close()
    return spec


def _override(table: _Table) -> GeometryOverride:
    values = {
        key: table.number(key, -limit, limit) if table.has(key) else None
        for key, limit in (("a_cm", 1000.0), ("d_cm", 1000.0), ("alpha_deg", 360.0))
    }
    reason = table.word("reason")
    if all(value is None for value in values.values()):
        table.wrong("a_cm", "missing, as are d_cm and alpha_deg", "at least one number that is overridden")
    table.close()
    return GeometryOverride(**values, reason=reason)


def _variation(table: _Table) -> VariationSpec:
    spec = VariationSpec(
        start_pose_deg=table.number("start_pose_deg", 0.0, 90.0),
        friction_fraction=table.number("friction_fraction", 0.0, 0.99),
        position_noise_ticks=table.number("position_noise_ticks", 0.0, 100.0),
        current_noise_ticks=table.number("current_noise_ticks", 0.0, 100.0),
    )
    table.close()
    return spec


class _Table:
    """One TOML table being read: takes keys out, collects what is wrong with them, then what nobody asked for."""

    def __init__(self, source: str, path: str, data: Mapping[str, Any], problems: list[str]) -> None:
        self.problems = problems
        self._source = source
        self._path = path
        self._data = data
        self._taken: set[str] = set()

    def wrong(self, key: str, what: str, expected: str) -> None:
        name = f"{self._path}.{key}" if self._path else key
        self.problems.append(f"{self._source}: {name}: {what}; expected {expected}")

    def has(self, key: str) -> bool:
        return key in self._data

    def close(self) -> None:
        for key in sorted(set(self._data) - self._taken):
            self.wrong(key, "unknown", "one of " + ", ".join(sorted(self._taken)))

    def table(self, key: str) -> _Table:
        value = self._take(key)
        if not isinstance(value, dict):
            self.wrong(key, _found(value), "a table")
            return _Muted(self._source, key, {}, [])
        path = f"{self._path}.{key}" if self._path else key
        return _Table(self._source, path, cast(dict[str, Any], value), self.problems)

    def tables(self, key: str) -> list[tuple[str, _Table]]:
        return self.table(key).inner()

    def inner(self) -> list[tuple[str, _Table]]:
        return [(name, self.table(name)) for name in self._data]

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        value = self._take(key)
        if value is None and default is not None:
            return default
        expected = f"a number from {low:g} to {high:g}"
        if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
            return self._refuse(key, value, expected, low)
        return float(value)

    def integer(self, key: str, low: int, high: int) -> int:
        value = self._take(key)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            return self._refuse(key, value, f"a whole number from {low} to {high}", low)
        return value

    def span(self, key: str, low: float, high: float) -> tuple[float, float]:
        value = self._take(key)
        expected = f"two numbers from {low:g} to {high:g}, the lower one first"
        numbers = cast(list[Any], value) if isinstance(value, list) else []
        if len(numbers) != 2 or any(isinstance(n, bool) or not isinstance(n, int | float) for n in numbers):
            return self._refuse(key, value, expected, (low, high))
        if not low <= numbers[0] < numbers[1] <= high:
            return self._refuse(key, value, expected, (low, high))
        return float(numbers[0]), float(numbers[1])

    def word(self, key: str, allowed: tuple[str, ...] = (), default: str | None = None) -> str:
        value = self._take(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str) or not value.strip() or (allowed and value not in allowed):
            return self._refuse(key, value, "one of " + ", ".join(allowed) if allowed else "a text", "")
        return value

    def caps(self, key: str) -> tuple[float, ...]:
        value = self._take(key)
        expected = f"{LEVELS} fractions from 0 to 1, strongest first"
        if not isinstance(value, list) or len(cast(list[Any], value)) != LEVELS:
            return self._refuse(key, value, expected, (1.0,) * LEVELS)
        numbers = cast(list[Any], value)
        if any(isinstance(n, bool) or not isinstance(n, int | float) or not 0.0 < n <= 1.0 for n in numbers):
            return self._refuse(key, value, expected, (1.0,) * LEVELS)
        if any(later > earlier for earlier, later in pairwise(numbers)):
            return self._refuse(key, value, expected, (1.0,) * LEVELS)
        return tuple(float(n) for n in numbers)

    def _take(self, key: str) -> Any:
        self._taken.add(key)
        return self._data.get(key)

    def _refuse(self, key: str, value: Any, expected: str, instead: _T) -> _T:
        self.wrong(key, _found(value), expected)
        return instead


class _Muted(_Table):
    """Stands in for a table that is missing, which has been reported once already."""

    def wrong(self, key: str, what: str, expected: str) -> None:
        """Say nothing."""


def _found(value: Any) -> str:
    """Say what stood in the file."""
    return "missing" if value is None else f"{value!r}"
