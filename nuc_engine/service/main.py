"""The service process: everything put together. The only place of the service that looks at clocks."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time  # noqa: TID251  the composition root hands the clocks out
from datetime import datetime

from nuc_engine.daemon.block import BlockError, Word
from nuc_engine.daemon.launch import Launch
from nuc_engine.daemon.spawn import END_SIGNAL
from nuc_engine.datalogger.logger import Logger
from nuc_engine.machine.locations import NotFound, find_configuration
from nuc_engine.messages.errors import Refused
from nuc_engine.service.errors import ServiceError
from nuc_engine.service.service import Service

_SWITCH_S = 0.0002
_ORPHAN_NS = 1_000_000_000
_LOOK_S = 0.05

EXIT_OK, EXIT_REFUSED, EXIT_LOGGER, EXIT_MEMORY = 0, 1, 71, 72


def run(launch: Launch) -> int:
    """Be the service until the main process tells it to end; return the exit status.

    What keeps the first service of a daemon from starting is said on stderr, and `Word.REFUSED` set: trying again would
    not help.
    """
    words = launch.block.words
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    # The logger's thread shares the interpreter with the one that answers: let it not keep it for 5 ms at a time.
    sys.setswitchinterval(_SWITCH_S)
    dump = threading.Event()
    logger = Logger(
        launch,
        wall=lambda: datetime.now().astimezone(),  # noqa: TID251  see above
        now_ns=time.monotonic_ns,
        request_dump=lambda: _ask(dump, launch.to_service),
        stream=sys.stderr,
        for_journal=launch.to_journal,
    )
    try:
        service = Service(
            launch, logger, loop, now_ns=time.monotonic_ns, unix_time_s=time.time, dump_wanted=lambda: _taken(dump)
        )
    except ServiceError as error:
        return _refuse(launch, str(error))
    service.hub.recent.journal = logger.events.tell
    try:
        if not words[Word.PLAN_GENERATION] and launch.options.configuration:
            _configure(launch, service)
    except (Refused, NotFound, BlockError) as error:
        service.close()
        return _refuse(launch, str(error))
    logger.start()
    words[Word.SERVICE_READY] = 1
    try:
        return loop.run_until_complete(_serve(service, logger))
    except MemoryError:
        # What no commit covers, the next one reads again.
        os.write(2, b"nuc serve: the service has used all memory it may have\n")
        return EXIT_MEMORY


async def _serve(service: Service, logger: Logger) -> int:
    loop, ending = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(END_SIGNAL, ending.set)
    loop.set_exception_handler(lambda _, told: service.fail(told.get("exception") or RuntimeError(told["message"])))
    service.begin()
    status = EXIT_OK
    end = asyncio.create_task(ending.wait())
    while not end.done():
        await asyncio.wait((end, service.over), timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
        if service.over.done():
            service.over.result()
        if not logger.alive:
            # Without its logger a service is half of one: a new one begins where this one's last commit was.
            status = EXIT_LOGGER
            end.cancel()
            break
    words = service.hub.block.words
    until_ns = time.monotonic_ns() + _ORPHAN_NS
    while words[Word.CORE_PID] and os.getppid() != words[Word.SUPERVISOR_PID] and time.monotonic_ns() < until_ns:
        # The main process is dead, the guardian sees to the core: what that still wrote, and its end, are for the log.
        await asyncio.sleep(_LOOK_S)
    logger.stop()
    service.close()
    return status


def _configure(launch: Launch, service: Service) -> None:
    folder = find_configuration(launch.options.configuration)
    configuration = service.hub.read_configuration(folder.resolve().name, folder)
    for warning in configuration.warnings:
        service.hub.recent.add("warning", warning)
    service.hub.install(configuration)


def _refuse(launch: Launch, why: str) -> int:
    sys.stderr.write(f"nuc serve: {why}\n")
    if not launch.block.words[Word.SERVICE_DEATHS]:
        launch.block.words[Word.REFUSED] = 1
        os.eventfd_write(launch.to_supervisor, 1)
    return EXIT_REFUSED


def _ask(dump: threading.Event, to_service: int) -> None:
    dump.set()
    os.eventfd_write(to_service, 1)


def _taken(dump: threading.Event) -> bool:
    if not dump.is_set():
        return False
    dump.clear()
    return True
