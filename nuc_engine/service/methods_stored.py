"""Methods around what lies on the daemon's disk: scripts, configurations, bouts and their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.listing import BoutEntry, list_bouts
from nuc_engine.machine.locations import list_scripts
from nuc_engine.messages import requests
from nuc_engine.messages.answers import (
    Documents,
    FilePart,
    FoundProblem,
    SavedAnswer,
    ScriptAnswer,
    ScriptTextAnswer,
    StoredBout,
    StoredFile,
)
from nuc_engine.messages.errors import Refused
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.configuration import bytes_of, check_documents, read_configuration
from nuc_engine.service.folders import Folders, check_name, has_link
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.scripts import read_script, script_problems
from sccils_schemas.documents import HdsoScript
from sccils_schemas.names import printable
from sccils_schemas.parser import parse
from sccils_schemas.problems import Problem, Problems
from sccils_schemas.xmlread import MAX_BYTES, read_file

PART_BYTES = 512 << 10
"""Bytes of a file in one answer."""

_MOST_BOUTS, _MOST_FILES, _MOST_SCRIPTS, _MOST_PROBLEMS = 1000, 1000, 1000, 200
_MOST_LABELS, _LONGEST_TEXT = 32, 200


# --- scripts and configurations ---


async def scripts(hub: Hub, client: ConnectedClient, _asked: requests.ScriptsRequest) -> list[ScriptAnswer]:
    """Say which hdsoscripts there are."""
    return await hub.workshop.do_for(
        client.key, lambda: [_script(hub.folders, name) for name in list_scripts()[:_MOST_SCRIPTS]]
    )


def _script(folders: Folders, name: str) -> ScriptAnswer:
    try:
        document, problems = parse(_read(folders.find_script(name)), "script")
    except Refused as error:
        return ScriptAnswer(printable(name), "", None, error.text)
    if not isinstance(document, HdsoScript):
        first = next(iter(problems.errors), None)
        return ScriptAnswer(name, "", None, "this is no hdsoscript" if first is None else printable(str(first)))
    description = printable(" ".join((document.description or "").split()))
    ends = [entry.time_s + (getattr(entry, "duration_s", None) or 0) for entry in document.entries]
    return ScriptAnswer(name, description, float(max(ends, default=0)))


async def script_text(hub: Hub, client: ConnectedClient, asked: requests.ScriptTextRequest) -> ScriptTextAnswer:
    """Give the text of a script."""
    data = await hub.workshop.do_for(client.key, lambda: _read(hub.folders.find_script(asked.name)))
    return ScriptTextAnswer(asked.name, data.decode("utf-8", "replace"))


def _read(path: Path) -> bytes:
    problems = Problems()
    data = read_file(path, problems)
    if data is None:
        raise Refused("failed", "; ".join(map(str, problems.errors)))
    return data


async def store_script(hub: Hub, client: ConnectedClient, asked: requests.StoreScriptRequest) -> SavedAnswer:
    """Write a script as it is, if the model in force could carry it out."""
    name, data, model = check_name(asked.name), asked.text.encode("utf-8", "replace"), hub.need_configuration().model

    def work() -> Path:
        read_script(data, model)
        return hub.folders.new_script(name, data, overwrite=asked.overwrite)

    path = await hub.workshop.do(work, len(data))
    hub.recent.add("saved", str(path), author=client.author)
    return SavedAnswer(str(path), "script")


async def store_configuration(
    hub: Hub, client: ConnectedClient, asked: requests.StoreConfigurationRequest
) -> SavedAnswer:
    """Write documents as a configuration, if they can be loaded."""
    name, files = check_name(asked.name), bytes_of(asked.documents)

    def work() -> Path:
        hub.make_configuration(name, files)
        return hub.folders.new_configuration(name, files, overwrite=asked.overwrite)

    path = await hub.workshop.do(work, sum(map(len, files.values())))
    hub.recent.add("saved", str(path), author=client.author)
    return SavedAnswer(str(path), "configuration")


async def documents(hub: Hub, client: ConnectedClient, asked: requests.DocumentsRequest) -> Documents:
    """Give the XML texts of the configuration in force, or of one that can be chosen, good or not."""
    if asked.name is None:
        files: Mapping[str, bytes] = hub.need_configuration().files
    else:
        name = asked.name
        files = await hub.workshop.do_for(client.key, lambda: dict(_documents(hub.folders.find_configuration(name))))
    return {file: data.decode("utf-8", "replace") for file, data in files.items()}


def _documents(folder: Path) -> Iterator[tuple[str, bytes]]:
    try:
        yield from read_configuration(folder.name, folder).files.items()
    except Refused:
        # What cannot be loaded is to be mended.
        for path in sorted(folder.glob("*.xml"))[:_MOST_FILES]:
            if path.stat().st_size <= MAX_BYTES:
                yield path.name, path.read_bytes()


async def validate(hub: Hub, client: ConnectedClient, asked: requests.ValidateRequest) -> list[FoundProblem]:
    """Say what is wrong with documents."""
    if asked.text is None and asked.documents is None:
        raise Refused("bad_request", "validate lacks what is to be looked at", "expected text, documents, or both")
    text = None if asked.text is None else asked.text.encode("utf-8", "replace")
    files = None if asked.documents is None else bytes_of(asked.documents)
    model = None if hub.configuration is None else hub.configuration.model

    def work() -> list[FoundProblem]:
        problems = Problems()
        held = model
        if files is not None:
            held = check_documents("configuration", files, problems, hub.families)
        if text is not None:
            script_problems(text, held, problems)
        return [_found(problem) for problem in list(problems)[:_MOST_PROBLEMS]]

    return await hub.workshop.do_for(client.key, work, sum(map(len, (files or {}).values())) + len(text or b""))


def _found(problem: Problem) -> FoundProblem:
    return {
        "severity": problem.severity,
        "file": printable(problem.file),
        "line": problem.line,
        "what": printable(problem.what),
        "expected": printable(problem.expected),
        "hint": printable(problem.hint),
    }


# --- bouts ---


async def bouts(hub: Hub, client: ConnectedClient, _asked: requests.BoutsRequest) -> list[StoredBout]:
    """Say which bouts lie in the data folder."""
    return await hub.workshop.do_for(client.key, lambda: _list_bouts(hub.folders.data))


def _list_bouts(data: Path) -> list[StoredBout]:
    try:
        entries = list_bouts(data, _MOST_BOUTS)
    except AnalysisError:  # no folder yet: the first bout makes it
        return []
    entries.sort(key=lambda entry: (entry.started, entry.folder.name), reverse=True)
    return [_stored(entry, data) for entry in entries]


def _stored(entry: BoutEntry, data: Path) -> StoredBout:
    return StoredBout(
        name=printable(entry.folder.relative_to(data).as_posix()),
        configuration=_short(entry.configuration),
        script=_short(entry.script),
        started=_short(entry.started),
        duration_s=entry.duration_s,
        state=_short(entry.state),
        labels={_short(key): _short(value) for key, value in islice(entry.labels.items(), _MOST_LABELS)},
        problem=_short(entry.problem),
    )


def _short(text: str) -> str:
    return printable(text[:_LONGEST_TEXT])


async def bout_files(hub: Hub, client: ConnectedClient, asked: requests.BoutFilesRequest) -> list[StoredFile]:
    """Say which files a bout has."""
    return await hub.workshop.do_for(client.key, lambda: list(_files(hub.folders.bout(asked.bout))))


def _files(folder: Path) -> Iterator[StoredFile]:
    for path in sorted(islice(folder.rglob("*"), _MOST_FILES)):
        parts = path.relative_to(folder).parts
        if path.is_file() and not has_link(folder, parts):
            yield StoredFile(printable("/".join(parts)), path.stat().st_size)


async def fetch(hub: Hub, client: ConnectedClient, asked: requests.FetchRequest) -> FilePart:
    """Give a piece of a file of a bout."""

    def work() -> FilePart:
        path = hub.folders.bout_file(asked.bout, asked.file)
        try:
            with path.open("rb") as file:
                file.seek(asked.offset)
                return FilePart(file.read(PART_BYTES), path.stat().st_size)
        except (OSError, OverflowError) as error:
            raise Refused("failed", f"{asked.file} cannot be read: {error}") from error

    return await hub.workshop.do_for(client.key, work)


HANDLERS: Handlers = {
    requests.ScriptsRequest: scripts,
    requests.ScriptTextRequest: script_text,
    requests.StoreScriptRequest: store_script,
    requests.StoreConfigurationRequest: store_configuration,
    requests.DocumentsRequest: documents,
    requests.ValidateRequest: validate,
    requests.BoutsRequest: bouts,
    requests.BoutFilesRequest: bout_files,
    requests.FetchRequest: fetch,
}
"""What does the requests of this part."""
