"""Data directories below one folder, over HTTP: which there are, what is in them, their records, figures, files, jobs.

A bout is named in URLs by its path below the folder, every byte that is not plain percent-encoded, slashes too (`id` in
the list). Nothing outside of the folder can be named, nor what is reached by a link.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, unquote_to_bytes

import msgspec
from msgspec import Struct
from starlette.convertors import PathConvertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from nuc_engine.analysis.errors import AnalysisError
from nuc_engine.analysis.listing import BoutEntry, is_bout, list_bouts
from nuc_engine.ui import drawing, reading
from nuc_engine.ui.answers import answer, asked_of, problem
from nuc_engine.ui.jobs import Job, JobQueue, too_many
from sccils_schemas.names import printable

MOST_WAITING = 24
"""Requests that wait for one reader; one more is refused."""

LONGEST_READ_S = 60.0
"""How long a reader may take for one request."""

_MOST_FILES = 2000
_LONGEST_QUERY = 200
_JOB = "job:"
"""Before the number of a job, in place of a bout's id: no id has this character."""

_VIEWS = frozenset({"side", "front", "top", "3d"})


class _Anything(PathConvertor):
    """The rest of a path, line ends in it too, which names of folders may have."""

    regex = r"[\s\S]*"


register_url_convertor("anything", _Anything())


class MovieRequest(Struct, forbid_unknown_fields=True):
    """What of a bout is to be a movie: seconds, times real time, and from where it is seen."""

    begin_s: float = 0.0
    end_s: float | None = None
    speed: float | None = None
    views: tuple[str, ...] = ()


class PageReader:
    """A process that does one thing after the other, for as long as each may take."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._pool: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._closed = False

    async def ask(self, function: Callable[..., Any], *words: Any) -> Any:
        """Return what a function of `reading` or `scripting` says. Raises AnalysisError with why there is nothing."""
        if self._waiting >= MOST_WAITING:
            raise AnalysisError("too many requests wait for a reader: try again in a moment")
        self._waiting += 1
        try:
            async with self._turn:
                if self._closed:
                    raise AnalysisError("the page's server ends")
                good, told = await self._answer(function, words)
        finally:
            self._waiting -= 1
        if not good:
            raise AnalysisError(told)
        return told

    async def _answer(self, function: Callable[..., Any], words: Sequence[Any]) -> reading.Told:
        work = self._begun(function, words)
        done, _ = await asyncio.wait([work], timeout=self._longest_s)
        if not done:
            work.add_done_callback(lambda late: late.cancelled() or late.exception())
            self.end()
            raise AnalysisError(f"given up after {self._longest_s:g} s: this is too much for the page")
        if work.cancelled() or self._closed:
            raise AnalysisError("the page's server ends")
        try:
            return work.result()
        except BrokenExecutor:
            self.end()
            raise AnalysisError("the reader ended: is the memory full?") from None

    def _begun(self, function: Callable[..., Any], words: Sequence[Any]) -> asyncio.Future[reading.Told]:
        loop = asyncio.get_running_loop()
        if self._pool is not None:
            try:
                return loop.run_in_executor(self._pool, reading.guarded, function, *words)
            except BrokenExecutor:  # it ended while nobody asked
                self.end()
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, context, initializer=reading.begin)
        return loop.run_in_executor(self._pool, reading.guarded, function, *words)

    def close(self) -> None:
        """End the process for good."""
        self._closed = True
        self.end()

    def end(self) -> None:
        """End the process, whatever it is at; the next request begins another."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list((pool._processes or {}).values()):  # noqa: SLF001  it has no way to end one that is at work
            process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


class BoutReaders:
    """Processes that read: for what somebody looks at now, for pictures, for documents that are edited."""

    def __init__(self, longest_s: float = LONGEST_READ_S) -> None:
        self._readers = {which: PageReader(longest_s) for which in ("look", "pictures", "documents")}

    async def ask(self, which: str, function: Callable[..., Any], *words: Any) -> Any:
        """Return what a function of `reading` or `scripting` says. Raises AnalysisError with why there is nothing."""
        return await self._readers[which].ask(function, *words)

    def close(self) -> None:
        """End all."""
        for reader in self._readers.values():
            reader.close()


class BoutPages:
    """The data directories below `root`; what jobs leave goes to `spare`."""

    def __init__(self, root: Path, spare: Path) -> None:
        self._root = root.resolve()
        self.readers, self.jobs = BoutReaders(), JobQueue(spare.resolve())
        self._outcomes: dict[str, tuple[int, list[Any]]] = {}
        self._pictures: dict[tuple[str, str], tuple[int, bytes]] = {}

    async def close(self) -> None:
        """End what is under way."""
        await self.jobs.close()
        self.readers.close()

    def routes(self) -> Sequence[BaseRoute]:
        """Return what is served."""
        return [
            Route("/api/bouts", self._list, methods=["GET"]),
            Route("/api/bouts/{rest:anything}", self._bout, methods=["GET", "POST"]),
            Route("/api/jobs/{id}", self._job, methods=["GET", "DELETE"]),
            Route("/api/jobs/{id}/file", self._job_file, methods=["GET"]),
        ]

    # --- which there are ---

    async def _list(self, request: Request) -> Response:
        words = request.query_params.get("q", "")[:_LONGEST_QUERY].casefold().split()
        try:
            entries = await self.readers.ask("look", reading.listed, self._root)
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))
        told = [self._entry(entry) for entry in entries]
        found = [bout for bout in told if all(word in _searched(bout) for word in words)]
        found.sort(key=lambda bout: (bout["started"], bout["name"]), reverse=True)
        whole = len(told) < reading.MOST_BOUTS
        return answer({"bouts": found, "total": len(told), "whole": whole, "folder": printable(str(self._root))})

    def _entry(self, entry: BoutEntry) -> dict[str, Any]:
        name, number = named(entry.folder, self._root)
        return {
            "id": number,
            "name": name,
            "kind": entry.kind,
            "configuration": entry.configuration,
            "script": entry.script,
            "started": entry.started,
            "duration_s": entry.duration_s,
            "state": entry.state,
            "seed": entry.seed,
            "clock": entry.clock,
            "labels": dict(entry.labels),
            "notes": list(entry.notes),
            "outcomes": self._outcomes.get(number, (0, None))[1],
            "thumbnail": not entry.problem and entry.state != "running",
            "problem": entry.problem or None,
        }

    # --- one of them ---

    async def _bout(self, request: Request) -> Response:
        raw = request.scope.get("raw_path", b"").decode("latin-1")
        number, *what = raw.partition("?")[0].removeprefix("/api/bouts/").split("/")
        folder = self._folder(number)
        if folder is None:
            return problem(404, "not_found", "no such bout", "GET /api/bouts lists them")
        try:
            return await self._part(request, number, folder, what)
        except AnalysisError as error:
            return problem(422, "failed", printable(str(error)))

    def _folder(self, number: str) -> Path | None:
        """Return what is meant: a data directory below the folder, or what a job has left (`job:7`)."""
        if not number.startswith(_JOB):
            return place_of(number, self._root)
        job = self.jobs.find(number.removeprefix(_JOB))
        folder = None if job is None else job.result_folder
        return folder if folder is not None and is_bout(folder) else None

    async def _part(self, request: Request, number: str, folder: Path, what: Sequence[str]) -> Response:  # noqa: PLR0911, PLR0912  one for each
        match request.method, *what:
            case ("GET",):
                return await self._description(number, folder)
            case "GET", "records":
                return await self._records(request.query_params, folder)
            case "GET", "seen":
                told = await self.readers.ask("pictures", reading.seen, folder)
                self._outcomes[number] = (_stamp(folder), msgspec.json.decode(told)["outcomes"])
                return Response(told, media_type="application/json")
            case "GET", "switches":
                told = await self.readers.ask("look", reading.switches, folder)
                return Response(told, media_type="application/json")
            case "GET", "diagram":
                return await self._diagram(request.query_params, folder)
            case "GET", "thumbnail.png":
                return await self._picture(number, folder, "", reading.thumbnail, folder)
            case "GET", "figures":
                told = msgspec.json.decode(await self.readers.ask("look", reading.describe, folder))
                return answer({"figures": told["figures"]})
            case "GET", "figures", kind if kind.endswith(".png"):
                kind = unquote(kind.removesuffix(".png"))
                return await self._picture(number, folder, kind, reading.figure, folder, kind)
            case "GET", "files":
                return answer({"files": list(await asyncio.to_thread(lambda: list(files_of(folder))))})
            case "GET", "files", file:
                return _file(place_in(folder, file))
            case "POST", "movie":
                return await self._movie(request, number, folder)
            case "POST", "replay":
                words = await asyncio.to_thread(_replay_words, folder)
                return self._started(self.jobs.start("replay", number, words))
            case _:
                return problem(404, "not_found", "there is nothing of this name")

    async def _description(self, number: str, folder: Path) -> Response:
        told = msgspec.json.decode(await self.readers.ask("look", reading.describe, folder))
        files = await asyncio.to_thread(lambda: list(files_of(folder)))
        dry = number.startswith(_JOB)
        name = f"dry run {number.removeprefix(_JOB)}" if dry else named(folder, self._root)[0]
        shown = {"id": number, "name": name, "dry_run": dry, "folder": printable(str(folder))}
        return answer({**shown, **told, "files": files})

    async def _records(self, query: Mapping[str, str], folder: Path) -> Response:
        begin_s, end_s = _number(query.get("from"), -math.inf), _number(query.get("to"), math.inf)
        most = _number(query.get("most"), 4000.0)
        if begin_s is None or end_s is None or most is None or not reading.LEAST <= most <= reading.MOST:
            return problem(
                400, "bad_request", f"expected from and to in s, and most from {reading.LEAST} to {reading.MOST}"
            )
        kind, batch = await self.readers.ask(
            "look", reading.records, folder, begin_s, end_s, int(most), query.get("log", "")
        )
        return Response(batch, media_type="application/octet-stream", headers={"x-nuc-records": kind})

    async def _diagram(self, query: Mapping[str, str], folder: Path) -> Response:
        at_s, what = _number(query.get("at"), 0.0), query.get("what", "")
        if at_s is None or what not in drawing.RECORDED:
            return problem(400, "bad_request", f"expected at in s, and what of {', '.join(drawing.RECORDED)}")
        return answer(await self.readers.ask("look", drawing.recorded, folder, at_s, what, query.get("joint", "")))

    async def _picture(self, number: str, folder: Path, kind: str, draw: Callable[..., bytes], *words: Any) -> Response:
        stamp, (made, picture) = _stamp(folder), self._pictures.get((number, kind), (-1, b""))
        if made != stamp:
            picture = await self.readers.ask("pictures", draw, *words)
            self._pictures[number, kind] = stamp, picture
            while len(self._pictures) > 256:
                del self._pictures[next(iter(self._pictures))]
        return Response(picture, media_type="image/png")

    # --- jobs ---

    async def _movie(self, request: Request, number: str, folder: Path) -> Response:
        wanted = await asked_of(request, MovieRequest)
        if isinstance(wanted, Response):
            return wanted
        if not set(wanted.views) <= _VIEWS or len(wanted.views) > len(_VIEWS):
            return problem(400, "bad_request", f"views are of {', '.join(sorted(_VIEWS))}")
        words = ["movie", str(folder), "--json", "--out", "{out}", f"--begin={wanted.begin_s}"]
        words += [] if wanted.end_s is None else [f"--end={wanted.end_s}"]
        words += [] if wanted.speed is None else [f"--speed={wanted.speed}"]
        words += [f"--views={','.join(wanted.views)}"] if wanted.views else []
        return self._started(self.jobs.start("movie", number, words, "movie.mp4"))

    def _started(self, job: Job | None) -> Response:
        return too_many() if job is None else answer(job.told(), 202)

    async def _job(self, request: Request) -> Response:
        job = self.jobs.find(request.path_params["id"])
        if job is None:
            return problem(404, "not_found", "no such job")
        if request.method == "DELETE":
            await self.jobs.cancel(job)
        return answer(job.told())

    async def _job_file(self, request: Request) -> Response:
        job = self.jobs.find(request.path_params["id"])
        if job is None or job.state != "done" or job.file is None:
            return problem(404, "not_found", "no such file")
        return _file(job.file, "video/mp4")


def named(path: Path, root: Path) -> tuple[str, str]:
    """Return what a path below a folder is called for people, and in a URL."""
    below = path.relative_to(root)
    return printable(str(below)), quote(os.fsencode(below), safe="")


def place_in(root: Path, number: str) -> Path | None:
    """Return the path below a folder that a part of a URL names; None for one outside of it, or reached by a link."""
    try:
        name = os.fsdecode(unquote_to_bytes(number))
        parts = name.split("/")
        if "\0" in name or any(part in ("", "..") or (part == "." and len(parts) > 1) for part in parts):
            return None
        path = root / name
        return path if path.resolve(strict=True) == path and path.is_relative_to(root) else None
    except (OSError, ValueError, RuntimeError):
        return None


def place_of(number: str, root: Path) -> Path | None:
    """Return the data directory that a part of a URL names; None where there is none."""
    path = root if number == "." else place_in(root, number)
    if path is None or any(part.startswith(".") for part in path.relative_to(root).parts):
        return None
    return path if is_bout(path) else None


def files_of(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the files of a data directory; links are none."""
    count = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file() and not path.is_symlink() and count < _MOST_FILES:
                count += 1
                shown, number = named(path, folder)
                yield {"name": shown, "id": number, "bytes": path.stat().st_size}


def _file(path: Path | None, kind: str = "application/octet-stream") -> Response:
    """Return a file to be kept, never to be shown: what is in it is not the page's."""
    if path is None or not path.is_file():
        return problem(404, "not_found", "no such file")
    shown = quote(os.fsencode(path.name), safe="")
    return FileResponse(path, media_type=kind, headers={"content-disposition": f"attachment; filename*=UTF-8''{shown}"})


def _searched(bout: Mapping[str, Any]) -> str:
    fields = (bout["name"], bout["configuration"], bout["script"], bout["state"], bout["started"], *bout["notes"])
    labels = (f"{key}={value}" for key, value in bout["labels"].items())
    outcomes = (str(outcome["what"]) for outcome in bout["outcomes"] or ())
    return "\n".join((*fields, *labels, *outcomes)).casefold()


def _replay_words(folder: Path) -> list[str]:
    entries = list_bouts(folder)
    return ["replay", str(folder), "--json", *(["--recorded"] if entries and entries[0].clock == "real" else [])]


def _stamp(folder: Path) -> int:
    try:
        return max(path.stat().st_mtime_ns for path in (folder, *folder.glob("*Data.txt")))
    except OSError:
        return 0


def _number(text: str | None, otherwise: float) -> float | None:
    if text is None or not text:
        return otherwise
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
