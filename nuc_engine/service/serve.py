"""The daemon put together: ports, block, descriptors, signals, and the processes that are run."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from drivers.factory import is_emulated, parse_line
from nuc_engine.daemon import core, guardian
from nuc_engine.daemon.block import Block
from nuc_engine.daemon.children import Programs
from nuc_engine.daemon.confine import confine
from nuc_engine.daemon.cyclering import make_file
from nuc_engine.daemon.emulated import emulator_args, exec_nuc, line_url
from nuc_engine.daemon.launch import SLOW_STALL_LIMIT_MS, STALL_LIMIT_MS, Launch, ServeOptions
from nuc_engine.daemon.notify import Notifier, handed_over
from nuc_engine.daemon.off_requests import Requester
from nuc_engine.daemon.offsocket import MotorNames, OffServer, open_off
from nuc_engine.daemon.ports import BusPort
from nuc_engine.daemon.spawn import Child, fork
from nuc_engine.daemon.supervisor import Supervisor
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.machine.rundir import COMMAND, OFF, PLANT, PROBE, RunDir, socket_path, take
from nuc_engine.realtime import LineWorkers, RealClock
from nuc_engine.realtime.system import LinuxSystem

END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class DaemonPrograms:
    """What the daemon's processes run. Core and guardian are loaded before the fork, so that they start at once."""

    def core(self, launch: Launch) -> int:
        """Run the tasks."""
        return core.run(launch)

    def guardian(self, launch: Launch, ends: Sequence[int]) -> int:
        """Watch over the core."""
        return guardian.run(launch, ends)

    def service(self, launch: Launch) -> int:
        """Talk and write."""
        confine()
        from nuc_engine.service.main import run

        return run(launch)


def serve(
    options: ServeOptions,
    buses: Sequence[tuple[str, str]],
    *,
    environment: Mapping[str, str],
    seed: int = 0,
    programs: Programs | None = None,
    show: Callable[[str], None] = lambda _: None,
) -> int:
    """Be the daemon until it is told to end; return the exit status.

    `buses` are (name, URL); `environment` is where systemd says how it wants to be told; `seed` decides an emulated
    leg. Raises RunDirError where there can be no sockets, BusUrlError for buses that cannot be, PortError for a port
    that cannot be opened now.
    """
    systemd = handed_over(environment, os.getpid())
    with ExitStack() as stack:
        own = take(Path(options.configuration).resolve().name if options.configuration else "leg", environment)
        stack.callback(own.remove)
        off = stack.enter_context(open_off(socket_path(own.path, OFF)))
        probe = stack.enter_context(open_off(socket_path(own.path, PROBE)))
        show(f"listens at ipc://{own.path / COMMAND}")
        signals = stack.enter_context(_signals())
        emulators: list[tuple[str, Callable[[], int]]] = []
        ports: list[BusPort] = []
        for name, url in buses:
            if is_emulated(url):
                pty = own.path / (f"bus-{name}" if name else "bus")
                live = own.path / PLANT
                words = emulator_args(url, options.configuration, pty, seed, name if len(buses) > 1 else "", live)
                if len(buses) == 1:
                    os.close(make_file(own.path, PLANT))
                emulators.append((f"nuc-emulate {name}".strip(), partial(exec_nuc, words)))
                ports.append(BusPort(name, line_url(url, pty)))
            else:
                ports.append(BusPort(name, url))
                ports[-1].open()
        _stay_in_memory()
        options = _with_limits(options, show)
        block = Block.create()
        clock = RealClock()

        def tell(name: str, text: str) -> None:
            block.rings["supervisor"].put(RecordKind.EVENT, pack(clock.now_ns, name, text))

        launch = Launch(
            block=block,
            to_core=_event_descriptor(),
            to_service=_event_descriptor(),
            to_supervisor=_event_descriptor(),
            # Made here, so that a child holds it even if this process has ended before the child starts.
            supervisor=os.pidfd_open(os.getpid()),
            buses=tuple(port.line for port in ports),
            options=options,
            run_dir=own.path,
            off=off.fileno(),
            probe=probe.fileno(),
            cycles=make_file(own.path),
            to_journal=_is_journal(environment.get("JOURNAL_STREAM", "")),
        )
        off_server = OffServer(block.words, off, Requester.SUPERVISOR, MotorNames(block), tell, probe)
        # Below the core, which waits for what they bring.
        workers = LineWorkers(options.priority - 1) if options.priority > 1 and options.line_workers else None

        def heed(now_ns: int) -> None:
            off_server.look(now_ns)
            if workers is not None and (missing := workers.look(now_ns)):
                tell("privilege_missing", missing)

        supervisor = Supervisor(
            launch,
            ports,
            programs if programs is not None else DaemonPrograms(),
            partial(_fork_of, own),
            clock,
            signals=signals,
            heed=heed,
            notifier=Notifier(systemd.address),
            watchdog_ns=systemd.watchdog_ns,
            emulators=emulators,
            show=show,
        )
        try:
            return supervisor.run()
        finally:
            if workers is not None:
                workers.close()


def _stay_in_memory() -> None:
    """Keep what the children will share with this process in memory, and out of their garbage collection.

    A guardian or core that has to begin at once then finds its pages there, and takes its own rights within 2 ms. Where
    it is not permitted, they say so.
    """
    gc.collect()
    gc.freeze()
    with suppress(OSError):
        LinuxSystem().lock_memory(future=False)


def _with_limits(options: ServeOptions, show: Callable[[str], None]) -> ServeOptions:
    """Take real-time priority, and return the options with a stall limit that holds with what was granted."""
    granted = False
    if options.priority:
        with suppress(OSError):
            # As high as the guardian's, to see whether it may be; then the lowest of all that is urgent, and inherited:
            # a dead child is replaced at once, whatever the load on the machine.
            for priority in (min(99, options.priority + guardian.ABOVE_CORE), 1):
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            granted = True
    if options.stall_limit_ms is None:
        limit_ms = STALL_LIMIT_MS if granted else SLOW_STALL_LIMIT_MS
        options = replace(options, stall_limit_ms=limit_ms)
    if not granted:
        why = "not permitted: `nuc doctor` says how to grant it" if options.priority else "--priority 0"
        show(
            f"no real-time priority ({why}). Other programs can hold the engine up; a core that stands still is limp"
            f" after {options.stall_limit_ms} ms instead of {STALL_LIMIT_MS} (--stall-limit)"
        )
    return options


def check_bus(url: str, configuration: str) -> None:
    """Check the URL of a bus, without opening anything. Raises BusUrlError."""
    if is_emulated(url):
        emulator_args(url, configuration, Path(), 0)
        parse_line(line_url(url, Path("/dev/null")))
    else:
        parse_line(url)


def _is_journal(stream: str) -> bool:
    """Say whether stderr is what systemd calls the stream to its journal: device and inode."""
    found = os.fstat(2)
    return stream == f"{found.st_dev}:{found.st_ino}"


def _event_descriptor() -> int:
    return os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)


def _fork_of(own: RunDir, name: str, program: Callable[[], int], **options: Any) -> Child:
    """Fork a child that removes the daemon's folder when it ends as an orphan."""
    parent = os.getpid()

    def run() -> int:
        try:
            return program()
        finally:
            if os.getppid() != parent:
                own.sweep()

    return fork(name, run, **options)


@contextmanager
def _signals() -> Generator[int]:
    """Turn the signals that ask for an end into bytes on a descriptor."""
    reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    before = {number: signal.signal(number, _take) for number in END_SIGNALS}
    wakeup = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _take(number: int, frame: FrameType | None) -> None:
    """The byte on the descriptor says it all."""
