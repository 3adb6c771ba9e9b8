"""A whole configuration, checked: joints.xml, parameters.xml and sensors.xml together, and scripts against it.

`load_model`, `load_script` and `load_any` read files; `check_model` and `check_script` look at
documents made in a program. All report everything that is wrong in one go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sccils_schemas.checks.acting import check_action_signals
from sccils_schemas.checks.controls import check_controls, check_owners
from sccils_schemas.checks.hdso_table import LIST_KINDS, HdsoKind, HdsoTable, initialise, kind_of
from sccils_schemas.checks.hdsos import check_engine_hdsos, check_hdsolist, check_together
from sccils_schemas.checks.joints import check_jointlist, check_sensor_mapping
from sccils_schemas.checks.rules import check_start
from sccils_schemas.checks.scope import Scope
from sccils_schemas.checks.scripts import check_budget, check_commands, check_entries
from sccils_schemas.checks.signals import check_signals
from sccils_schemas.documents import CommandScript, Document, Hdso, HdsoList, HdsoMod, HdsoScript, JointList, Ref
from sccils_schemas.parser import read_document
from sccils_schemas.problems import Problems
from sccils_schemas.xmlread import JOINTS_FILE, MODEL_FILES, PARAMETERS_FILE, SENSORS_FILE, read_file

_ROOTS = {JOINTS_FILE: "jointlist", PARAMETERS_FILE: "hdsolist", SENSORS_FILE: "hdsolist"}

_SOUND: dict[tuple[tuple[str, str], ...], tuple[JointList, HdsoList, HdsoList]] = {}
"""Documents that passed every check without a remark, by the sums of their files: a process that makes many bouts reads
each configuration twice a bout, and few are different."""
_MOST_SOUND = 16


@dataclass(frozen=True, slots=True)
class Model:
    """A configuration that has passed every check, apart from warnings.

    `name` is its folder's (reading B25); `files` are names and sha256 sums of its files; `names` and `ids` lead from
    HDSO ids to names and back.
    """

    name: str
    jointlist: JointList
    parameters: HdsoList
    sensors: HdsoList
    folder: Path | None = None
    files: tuple[tuple[str, str], ...] = ()
    names: Mapping[int, str] = field(init=False, compare=False, repr=False)
    ids: Mapping[str, int] = field(init=False, compare=False, repr=False)
    _by_id: Mapping[int, Hdso] = field(init=False, compare=False, repr=False)
    _kinds: Mapping[int, HdsoKind] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Index the HDSOs."""
        kinds = {hdso.id_num: kind_of(hdso, self.parameters, "parameter") for hdso in self.parameters.hdsos}
        kinds.update({hdso.id_num: kind_of(hdso, self.sensors, "sensor") for hdso in self.sensors.hdsos})
        object.__setattr__(self, "_by_id", {hdso.id_num: hdso for hdso in self.hdsos})
        object.__setattr__(self, "_kinds", kinds)
        object.__setattr__(self, "names", {hdso.id_num: hdso.name for hdso in self.hdsos})
        object.__setattr__(self, "ids", {hdso.name: hdso.id_num for hdso in self.hdsos})

    @property
    def hdsos(self) -> tuple[Hdso, ...]:
        """Every HDSO, parameters first, in document order."""
        return (*self.parameters.hdsos, *self.sensors.hdsos)

    def hdso(self, ref: Ref) -> Hdso:
        """Return the HDSO with this id or name. Raises KeyError when there is none."""
        return self._by_id[ref if isinstance(ref, int) else self.ids[ref]]

    def kind(self, hdso: Hdso) -> HdsoKind:
        """Return the kind of one of the model's HDSOs: its abstractType, or the kind of its list (reading B18)."""
        return self._kinds[hdso.id_num]


def load_model(folder: Path) -> tuple[Model | None, Problems]:
    """Return the configuration in a folder, and all problems; None when any of them is an error.

    A file that cannot be read does not keep the others from being checked. Problems carry the files' names as
    `folder` gives them.
    """
    problems = Problems()
    if not folder.is_dir():
        problems.error(str(folder), 0, "there is no such folder", f"a folder with {', '.join(MODEL_FILES)}")
        return None, problems
    contents = [read_file(folder / file, problems) for file in MODEL_FILES]
    sums = tuple(_sum(file, data) for file, data in zip(MODEL_FILES, contents, strict=True) if data is not None)
    if (known := _SOUND.get(sums)) is not None:
        joints, parameters, sensors = known
        joints, parameters, sensors = (
            replace(joints, source=str(folder / JOINTS_FILE)),
            replace(parameters, source=str(folder / PARAMETERS_FILE)),
            replace(sensors, source=str(folder / SENSORS_FILE)),
        )
        return Model(folder.resolve().name, joints, parameters, sensors, folder, sums), problems
    joints, parameters, sensors = (
        None if data is None else read_document(data, str(folder / file), problems, _ROOTS[file])
        for file, data in zip(MODEL_FILES, contents, strict=True)
    )
    joints = joints if isinstance(joints, JointList) else None
    parameters = parameters if isinstance(parameters, HdsoList) else None
    sensors = sensors if isinstance(sensors, HdsoList) else None
    _check(joints, parameters, sensors, str(folder), problems)
    if joints is None or parameters is None or sensors is None or not problems.ok:
        return None, problems
    if not problems.warning_count:
        if len(_SOUND) >= _MOST_SOUND:
            _SOUND.clear()
        _SOUND[sums] = joints, parameters, sensors
    return Model(folder.resolve().name, joints, parameters, sensors, folder, sums), problems


def _sum(file: str, data: bytes) -> tuple[str, str]:
    return file, hashlib.sha256(data).hexdigest()


def check_model(jointlist: JointList, parameters: HdsoList, sensors: HdsoList, name: str) -> Problems:
    """Return all problems of a configuration. Documents without a `source` are named `name`/joints.xml and so on."""
    problems = Problems()
    _check(jointlist, parameters, sensors, name, problems)
    return problems


def _check(
    jointlist: JointList | None, parameters: HdsoList | None, sensors: HdsoList | None, name: str, problems: Problems
) -> None:
    table = HdsoTable(complete=parameters is not None and sensors is not None)
    lists: list[tuple[HdsoList, str]] = []
    kinds: tuple[tuple[HdsoList | None, HdsoKind], ...] = ((parameters, "parameter"), (sensors, "sensor"))
    for hdsos, kind in kinds:
        if hdsos is not None:
            lists.append((hdsos, hdsos.source or f"{name}/{kind}s.xml"))
            # A list of the wrong kind is one problem; taken at its word it would be hundreds.
            swapped = LIST_KINDS.get(hdsos.data_set_type or "", kind) != kind
            table.add(replace(hdsos, data_set_type=None) if swapped else hdsos, lists[-1][1], kind)
    if jointlist is not None:
        initialise(table, jointlist)
        if sensors is not None:
            table.feed(sensors, jointlist)
    for hdsos, file in lists:
        check_hdsolist(hdsos, file, "sensor" if hdsos is sensors else "parameter", table, problems)
    if lists:
        check_together(lists, table, problems)
    if table.complete:
        check_engine_hdsos(table, lists[0][1], problems)
        if sensors is not None:
            check_signals(sensors, lists[-1][1], table, problems)
        if parameters is not None:
            check_controls(parameters, lists[0][1], table, problems)
    if jointlist is None:
        return
    scope = Scope(jointlist.source or f"{name}/{JOINTS_FILE}", table, problems)
    check_jointlist(jointlist, scope)
    if sensors is not None:
        check_sensor_mapping(jointlist, sensors, lists[-1][1], scope)
        check_action_signals(sensors, jointlist, lists[-1][1], table, problems)
    check_owners(jointlist, scope.file, table, problems)


def _table(model: Model) -> HdsoTable:
    table = HdsoTable()
    table.add(model.parameters, model.parameters.source or PARAMETERS_FILE, "parameter")
    table.add(model.sensors, model.sensors.source or SENSORS_FILE, "sensor")
    initialise(table, model.jointlist)
    table.feed(model.sensors, model.jointlist)
    return table


def check_unscripted(model: Model) -> Problems:
    """Return what keeps a model from being run without a script: rules that would read what has no value."""
    problems = Problems()
    check_start(model.jointlist, _table(model), model.jointlist.source or f"{model.name}/{JOINTS_FILE}", problems)
    return problems


def check_script(script: HdsoScript, model: Model) -> Problems:
    """Return all problems of a script on a model. A script with errors must not be started (reading C6)."""
    problems = Problems()
    _check_script(script, model, problems)
    return problems


def _check_script(script: HdsoScript, model: Model | None, problems: Problems) -> None:
    check_budget([script], script.source or "script", problems)
    check_entries(script, *_of(model), problems)


def check_commandscript(script: CommandScript, model: Model | None) -> Problems:
    """Return all problems of a command script, on a model when there is one."""
    problems = Problems()
    check_commands(script, *_of(model), problems)
    return problems


def _of(model: Model | None) -> tuple[HdsoTable | None, JointList | None]:
    return (None, None) if model is None else (_table(model), model.jointlist)


def load_script(path: Path, model: Model, before: tuple[HdsoMod, ...] = ()) -> tuple[HdsoScript | None, Problems]:
    """Return the HDSO script in a file, checked against a model, and all problems; None when any is an error.

    Writes given as `before` are put before its entries and checked with them.
    """
    document, problems = _load(path, "hdsoscript", model, before)
    return (document if isinstance(document, HdsoScript) else None), problems


def load_any(path: Path, model: Model | None = None) -> tuple[Document | None, Problems]:
    """Return the document in a file, of whatever kind, and all problems; None when any is an error.

    With a model, scripts and commands are checked against it, and a joint list or HDSO list as if it stood in place of
    the model's own. Without one, only what shows in the document alone is reported.
    """
    return _load(path, None, model)


def _load(
    path: Path, root: str | None, model: Model | None, before: tuple[HdsoMod, ...] = ()
) -> tuple[Document | None, Problems]:
    problems = Problems()
    data = read_file(path, problems)
    document = None if data is None else read_document(data, str(path), problems, root)
    if before and isinstance(document, HdsoScript):
        document = replace(document, entries=(*before, *document.entries))
    match document:
        case None:
            pass
        case HdsoScript():
            _check_script(document, model, problems)
        case CommandScript():
            problems.extend(check_commandscript(document, model))
        case _:
            _check_part(document, model, problems)
    return (document if problems.ok else None), problems


def _check_part(document: JointList | HdsoList, model: Model | None, problems: Problems) -> None:
    if isinstance(document, JointList):
        if model is None:
            _check(document, None, None, "", problems)
        else:
            _check(document, model.parameters, model.sensors, model.name, problems)
    elif model is not None and _is_sensors(document):
        _check(model.jointlist, model.parameters, document, model.name, problems)
    elif model is not None:
        _check(model.jointlist, document, model.sensors, model.name, problems)
    else:
        table = HdsoTable(complete=False)
        table.add(document, document.source, "parameter")
        check_hdsolist(document, document.source, None, table, problems)
        check_together([(document, document.source)], table, problems)


def _is_sensors(hdsos: HdsoList) -> bool:
    if hdsos.data_set_type in ("parameterList", "sensorList"):
        return hdsos.data_set_type == "sensorList"
    return bool(hdsos.hdsos) and all(hdso.abstract_type == "sensor" for hdso in hdsos.hdsos)
