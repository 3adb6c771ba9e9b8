"""A checked configuration: joints.xml, parameters.xml and sensors.xml together."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sccils_schemas.documents import Document, Hdso, HdsoList, JointList, Ref
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import read_file

Kind = Literal["parameter", "sensor", "constant", "boolstring"]
KINDS: tuple[Kind, ...] = ("parameter", "sensor", "constant", "boolstring")


@dataclass(frozen=True, slots=True)
class Model:
    """A configuration that has passed every check. `name` is its folder's; `files` are names and sha256 sums."""

    name: str
    jointlist: JointList
    parameters: HdsoList
    sensors: HdsoList
    folder: Path | None = None
    files: tuple[tuple[str, str], ...] = ()
    names: Mapping[int, str] = field(init=False, compare=False, repr=False)
    ids: Mapping[str, int] = field(init=False, compare=False, repr=False)
    _by_id: Mapping[int, Hdso] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Index the HDSOs."""
        by_id = {hdso.id_num: hdso for hdso in self.hdsos}
        object.__setattr__(self, "_by_id", by_id)
        object.__setattr__(self, "names", {hdso.id_num: hdso.name for hdso in self.hdsos})
        object.__setattr__(self, "ids", {hdso.name: hdso.id_num for hdso in self.hdsos})

    @property
    def hdsos(self) -> tuple[Hdso, ...]:
        """Every HDSO, parameters first, in document order."""
        return (*self.parameters.hdsos, *self.sensors.hdsos)

    def hdso(self, ref: Ref) -> Hdso:
        """Return the HDSO with this id or name. Raises KeyError when there is none."""
        return self._by_id[ref if isinstance(ref, int) else self.ids[ref]]

    def kind(self, hdso: Hdso) -> Kind:
        """Return an HDSO's kind: its abstractType, or the kind of its list (reading B18)."""
        home = self.sensors if hdso in self.sensors.hdsos else self.parameters
        return kind_of(hdso, home, "sensor" if home is self.sensors else "parameter")


def kind_of(hdso: Hdso, home: HdsoList, otherwise: Kind) -> Kind:
    """Return the kind of an HDSO of the list `home`."""
    for kind in KINDS:
        if hdso.abstract_type == kind:
            return kind
    if hdso.abstract_type is None and home.data_set_type in ("parameterList", "sensorList"):
        return "parameter" if home.data_set_type == "parameterList" else "sensor"
    return otherwise


def load_model(folder: Path) -> tuple[Model | None, Problems]:
    """Return the configuration in a folder, and all problems; None when any of them is an error."""
    problems = Problems()
    found: dict[str, Document | None] = {}
    sums: list[tuple[str, str]] = []
    for file, root in (("joints.xml", "jointlist"), ("parameters.xml", "hdsolist"), ("sensors.xml", "hdsolist")):
        path = folder / file
        data = read_file(path, problems)
        found[file] = None if data is None else read_document(data, str(path), problems, root)
        sums.append((file, hashlib.sha256(data or b"").hexdigest()))
    joints, parameters, sensors = found["joints.xml"], found["parameters.xml"], found["sensors.xml"]
    if not isinstance(joints, JointList) or not isinstance(parameters, HdsoList) or not isinstance(sensors, HdsoList):
        return None, problems
    name = folder.resolve().name
    model = Model(name, joints, parameters, sensors, folder, tuple(sums)) if problems.ok else None
    return model, problems
