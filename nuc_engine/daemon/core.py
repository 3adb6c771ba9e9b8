"""The core process: takes what real time needs, opens its buses on the ports it was handed, and runs the engine."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress

from drivers.bus import Bus
from drivers.errors import BusError, PortError
from drivers.factory import bus_on_port, parse_line
from drivers.group import BusGroup
from drivers.serial.port import SerialPort
from nuc_engine.daemon.block import Word
from nuc_engine.daemon.cyclering import CycleRing, columns_of
from nuc_engine.daemon.engine import EXIT_BUS_LOST, EXIT_CRASH, Engine
from nuc_engine.daemon.launch import BusLine, Launch
from nuc_engine.daemon.lines import assign_motors, servos_of
from nuc_engine.daemon.wire import RecordKind, pack
from nuc_engine.model.plan import Plan
from nuc_engine.realtime import RealClock, RealtimePolicy, SuspendWatch, acquire
from nuc_engine.realtime.clock import allowed_share


def run(launch: Launch) -> int:
    """Be the core of `launch` until a shutdown, an error or the loss of a port; return the exit status."""
    block, options = launch.block, launch.options
    clock = RealClock(spin_us=options.spin_us, share=allowed_share())

    def wake() -> None:
        with suppress(BlockingIOError):
            os.eventfd_write(launch.to_service, 1)

    def tell(name: str, text: str) -> None:
        block.rings["records"].put(RecordKind.EVENT, pack(clock.now_ns, name, text))
        wake()

    def orphaned() -> bool:
        return os.getppid() != block.words[Word.SUPERVISOR_PID]

    plan = block.read_plan()
    try:
        bus = open_buses(launch.buses, plan)
    except PortError as error:
        block.words[Word.BUS_LOST] = 1
        tell("bus_lost", str(error))
        return EXIT_BUS_LOST
    except BusError as error:
        tell("engine_error", str(error))
        return EXIT_CRASH
    # Mapped before memory is locked, so that its pages are there.
    cycles: CycleRing | None = CycleRing(mmap.mmap(launch.cycles, 0))
    try:
        cycles.begin(plan.name, columns_of(plan))
    except ValueError as error:
        cycles = None
        tell("cycles_refused", f"no cycles for other programs: {error}")
    engine = Engine(
        plan,
        bus,
        block,
        options,
        clock,
        wakened=launch.to_core,
        wake=wake,
        slept=SuspendWatch().check,
        orphaned=orphaned,
        motors_by_bus=assign_motors([line.name for line in launch.buses], plan),
        cycles=cycles,
    )
    report = acquire(RealtimePolicy(priority=options.priority or None, cpu=options.cpu))
    for missing in report.missing:
        tell("privilege_missing", f"core: {missing}")
    return engine.run()


def open_buses(lines: tuple[BusLine, ...], plan: Plan) -> Bus:
    """Return all buses as one, servos in the plan's order. Raises BusUrlError, PortError."""
    buses: list[Bus] = []
    slots = [(0, 0)] * len(plan.motors)
    for b, (line, motors) in enumerate(zip(lines, assign_motors([line.name for line in lines], plan), strict=True)):
        spec = parse_line(line.url)
        buses.append(bus_on_port(spec, SerialPort(line.fd, spec.baud), servos_of(plan, motors)))
        for k, motor in enumerate(motors):
            slots[motor] = (b, k)
    return buses[0] if len(buses) == 1 else BusGroup(buses, slots)
