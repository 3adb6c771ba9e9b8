from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from nuc_engine.doctor import CheckLevel, Machine, examine
from tests.doctor.machines import LIMITS, PaperMachine

DYNAMIC = "Linux version 6.12.1 #1 SMP PREEMPT_DYNAMIC Debian"
PLAIN = "Linux version 5.10.0 #1 SMP Debian"
CAP_SYS_NICE, CAP_IPC_LOCK = 1 << 23, 1 << 14


@pytest.fixture
def paper(tmp_path: Path) -> PaperMachine:
    return PaperMachine(tmp_path)


def test_a_good_machine_is_good_all_over(paper: PaperMachine) -> None:
    checks = paper.examine()
    assert {check.level for check in checks} == {CheckLevel.OK}
    assert len(checks) == 15


def test_an_empty_machine_is_no_error(tmp_path: Path) -> None:
    checks = examine(Machine(tmp_path, synchronised=lambda: None))
    assert len({check.name for check in checks}) > 10


@pytest.mark.parametrize(
    ("files", "level", "found"),
    [
        ({"proc/version": DYNAMIC, "sys/kernel/realtime": "1"}, "ok", "PREEMPT_RT"),
        (
            {"proc/version": DYNAMIC, "sys/kernel/debug/sched/preempt": "none voluntary (full) lazy"},
            "ok",
            "full (as it",
        ),
        (
            {"proc/version": DYNAMIC, "sys/kernel/debug/sched/preempt": "none (voluntary) full"},
            "warn",
            "voluntary (as it",
        ),
        ({"proc/version": DYNAMIC, "sys/kernel/debug/sched/preempt": "(none) voluntary full"}, "bad", "none (as it"),
        ({"proc/version": DYNAMIC, "proc/cmdline": "quiet preempt=full ro"}, "ok", "full (boot"),
        ({"proc/version": DYNAMIC, "proc/cmdline": "preempt=lazy"}, "warn", "lazy (boot"),
        ({"proc/version": DYNAMIC, "proc/cmdline": "nopreempt=full"}, "warn", "unknown"),
        ({"proc/version": PLAIN, "proc/cmdline": "preempt=full"}, "warn", "unknown"),
        ({"proc/version": DYNAMIC, "boot/config-6.12.1-rt": "CONFIG_PREEMPT=y\n"}, "ok", "full (as the kernel was"),
        (
            {
                "proc/version": DYNAMIC,
                "boot/config-6.12.1-rt": "# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_VOLUNTARY=y",
            },
            "warn",
            "voluntary (as the kernel was",
        ),
        ({"proc/version": PLAIN, "proc/config.gz": gzip.compress(b"CONFIG_PREEMPT_NONE=y\n")}, "bad", "none"),
        ({"proc/version": PLAIN, "proc/config.gz": b"no gzip"}, "warn", "unknown"),
        ({"proc/version": "Linux version 5.4 #1 SMP PREEMPT Tue"}, "ok", "full (as the kernel says"),
    ],
)
def test_preemption(paper: PaperMachine, files: dict[str, str | bytes], level: str, found: str) -> None:
    paper.write(files)
    check = paper.check("preemption")
    assert (check.level, check.found[: len(found)]) == (level, found)
    assert (check.level is CheckLevel.OK) != bool(check.remedy)


def test_a_dynamic_kernel_needs_no_new_one(paper: PaperMachine) -> None:
    paper.write({"proc/version": DYNAMIC, "proc/cmdline": "preempt=none"})
    assert "preempt=full" in paper.check("preemption").remedy
    paper.write({"proc/version": PLAIN, "boot/config-6.12.1-rt": "CONFIG_PREEMPT_NONE=y"})
    assert "install a kernel" in paper.check("preemption").remedy


@pytest.mark.parametrize(
    ("runtime", "level"), [("950000", "ok"), ("-1", "warn"), ("800000", "warn"), ("100000", "bad"), ("0", "bad")]
)
def test_throttling(paper: PaperMachine, runtime: str, level: str) -> None:
    paper.write({"proc/sys/kernel/sched_rt_runtime_us": runtime})
    assert paper.check("throttling").level == level


def capable(bits: int) -> dict[str, str]:
    return {"proc/self/status": f"CapEff:\t{bits:016x}\n"}


UNIT = {"etc/systemd/system/nuc-engine@.service": ""}
RULES = {"etc/udev/rules.d/99-nuc.rules": ""}


@pytest.mark.parametrize(
    ("rtprio", "files", "level"),
    [
        ("60", {}, "ok"),
        ("99", {}, "ok"),
        ("59", {}, "bad"),
        ("0", {}, "bad"),
        ("unlimited", {}, "ok"),
        ("0", capable(CAP_SYS_NICE), "ok"),
        ("0", capable(CAP_IPC_LOCK), "bad"),
        ("0", UNIT, "ok"),
    ],
)
def test_priority(paper: PaperMachine, rtprio: str, files: dict[str, str], level: str) -> None:
    paper.write({"proc/self/limits": LIMITS.format(memlock="unlimited", rtprio=rtprio), **files})
    assert paper.check("priority").level == level


@pytest.mark.parametrize(
    ("memlock", "files", "level", "swap"),
    [
        ("unlimited", {}, "ok", "ok"),
        ("8388608", {}, "warn", "warn"),
        ("8388608", capable(CAP_IPC_LOCK), "ok", "ok"),
        ("8388608", UNIT, "ok", "ok"),
    ],
)
def test_memory_and_swap(paper: PaperMachine, memlock: str, files: dict[str, str], level: str, swap: str) -> None:
    paper.write({"proc/self/limits": LIMITS.format(memlock=memlock, rtprio="60"), **files})
    paper.write({"proc/swaps": "Filename Type Size Used Priority\n/dev/sda2 partition 999 0 -2\n"})
    assert paper.check("locked memory").level == level
    assert (paper.check("swap").level, paper.check("swap").found) == (swap, "/dev/sda2")


def test_idle_latency(paper: PaperMachine) -> None:
    paper.locked = {"dev/cpu_dma_latency"}
    assert paper.check("CPU idle").level is CheckLevel.WARN
    paper.write(UNIT)
    assert paper.check("CPU idle").level is CheckLevel.WARN
    paper.write(RULES)
    assert paper.check("CPU idle").level is CheckLevel.OK


@pytest.mark.parametrize(
    ("governors", "level"),
    [(("performance", "performance"), "ok"), (("performance", "powersave"), "warn"), (("schedutil",), "warn")],
)
def test_governor(paper: PaperMachine, governors: tuple[str, ...], level: str) -> None:
    for number, governor in enumerate(governors):
        paper.write({f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor": governor})
    check = paper.check("CPU governor")
    assert (check.level, check.found) == (level, ", ".join(sorted(set(governors))))


def test_a_cpu_without_a_governor_is_no_matter(paper: PaperMachine) -> None:
    paper.write({"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": None})
    assert paper.check("CPU governor").level is CheckLevel.OK


@pytest.mark.parametrize(
    ("online", "isolated", "level", "said"),
    [
        ("0", "", "warn", "1"),
        ("0-3", "2-3", "ok", "4, of which 2-3"),
        ("0,2-4", "", "ok", "4, none set aside"),
    ],
)
def test_cpus(paper: PaperMachine, online: str, isolated: str, level: str, said: str) -> None:
    paper.write({"sys/devices/system/cpu/online": online, "sys/devices/system/cpu/isolated": isolated})
    check = paper.check("CPUs")
    assert check.level == level
    assert check.found.startswith(said)
    assert ("--cpu 2" in check.meaning) == bool(isolated)


@pytest.mark.parametrize(
    ("current", "there", "level", "remedy"),
    [
        ("kvm-clock", "kvm-clock", "ok", ""),
        ("hpet", "tsc hpet", "warn", "echo tsc"),
        ("acpi_pm", "acpi_pm", "warn", "tsc=reliable"),
        ("refined-jiffies", "refined-jiffies", "bad", "tsc=reliable"),
    ],
)
def test_clock_source(paper: PaperMachine, current: str, there: str, level: str, remedy: str) -> None:
    folder = "sys/devices/system/clocksource/clocksource0"
    paper.write({f"{folder}/current_clocksource": current, f"{folder}/available_clocksource": there})
    check = paper.check("clock source")
    assert (check.level, check.found) == (level, current)
    assert remedy in check.remedy


def test_a_virtual_machine_is_told_from_a_real_one(paper: PaperMachine) -> None:
    paper.write({"proc/cpuinfo": "processor : 0\nflags\t\t: fpu hypervisor sse\n"})
    assert paper.check("hardware").level is CheckLevel.WARN


def test_every_adapter_that_is_plugged_in_is_looked_at(paper: PaperMachine) -> None:
    paper.write({"dev/ttyACM3": "", "dev/ttyS0": ""})
    found = [check.found for check in paper.examine() if check.name == "port"]
    assert found == ["/dev/ttyUSB0: may be used", "/dev/ttyACM3: may be used"]


def test_no_adapter_is_no_fault(paper: PaperMachine) -> None:
    paper.write({"dev/ttyUSB0": None})
    assert paper.check("port").level is CheckLevel.OK


def test_only_adapters_that_are_named_are_looked_at(paper: PaperMachine) -> None:
    paper.locked = {"dev/ttyUSB0"}
    paper.write({"dev/ttyACM3": ""})
    found = paper.examine(ports=["/dev/ttyACM3"])
    assert [check.level for check in found if check.name == "port"] == [CheckLevel.OK]


def test_an_adapter_that_is_named_and_absent_is_bad(paper: PaperMachine) -> None:
    assert paper.check("port", ports=["/dev/nuc/leg"]).level is CheckLevel.BAD


def test_an_adapter_of_others_names_the_group_to_join(paper: PaperMachine) -> None:
    paper.locked = {"dev/ttyUSB0"}
    number = (paper.folder / "dev" / "ttyUSB0").stat().st_gid
    paper.write({"etc/group": f"plugdev:x:{number}:\n"})
    check = paper.check("port")
    assert check.level is CheckLevel.BAD
    assert "usermod -aG plugdev" in check.remedy
    paper.write({**UNIT, "etc/group": f"dialout:x:{number}:\n"})
    assert paper.check("port").level is CheckLevel.OK


def test_the_latency_timer_of_the_adapter_behind_a_name(paper: PaperMachine) -> None:
    paper.write({"sys/bus/usb-serial/devices/ttyUSB0/latency_timer": "16"})
    (paper.folder / "dev" / "nuc").mkdir()
    (paper.folder / "dev" / "nuc" / "leg").symlink_to("../ttyUSB0")
    (paper.folder / "dev" / "nuc" / "other").symlink_to("/dev/nuc/leg")
    for path in ("/dev/nuc/leg", "/dev/nuc/other"):
        check = paper.check("latency timer", ports=[path])
        assert (check.level, check.found) == (CheckLevel.BAD, f"{path}: 16 ms")
        assert "99-nuc.rules" in check.remedy
        assert paper.check("port", ports=[path]).level is CheckLevel.OK


def test_an_adapter_without_a_latency_timer_has_no_such_check(paper: PaperMachine) -> None:
    paper.write({"dev/ttyACM3": ""})
    assert "latency timer" not in [check.name for check in paper.examine(ports=["/dev/ttyACM3"])]


def test_programs_that_write_to_adapters(paper: PaperMachine) -> None:
    paper.write({"proc/99/comm": "ModemManager\n"})
    assert paper.check("other programs").level is CheckLevel.WARN
    paper.write(RULES)
    assert paper.check("other programs").level is CheckLevel.OK
    paper.write({"proc/100/comm": "brltty\n"})
    check = paper.check("other programs")
    assert (check.level, check.found) == (CheckLevel.WARN, "ModemManager, brltty")


@pytest.mark.parametrize(
    ("free", "level", "said"),
    [(100 << 30, "ok", "298 h"), (8 << 30, "warn", "24 h"), (1 << 30, "warn", "3 h"), (300 << 20, "bad", "52 min")],
)
def test_room_on_the_disk(paper: PaperMachine, free: int, level: str, said: str) -> None:
    paper.free = free
    check = paper.check("disk")
    assert check.level == level
    assert said in check.found


def test_a_folder_that_is_not_there_yet_is_judged_by_the_one_above(paper: PaperMachine) -> None:
    assert paper.check("disk", data="/var/lib/nuc/data/new/bouts").found.startswith("/var/lib/nuc/data:")
    paper.locked = {"var/lib/nuc/data"}
    check = paper.check("disk", data="/var/lib/nuc/data/new/bouts")
    assert (check.level, "may not be written to" in check.found) == (CheckLevel.BAD, True)


@pytest.mark.parametrize(("state", "level"), [(True, "ok"), (False, "warn"), (None, "ok")])
def test_time_of_day(paper: PaperMachine, state: bool | None, level: str) -> None:
    paper.synchronised = state
    assert paper.check("time of day").level == level


def test_whatever_is_not_ok_says_what_to_do(paper: PaperMachine) -> None:
    paper.write(
        {
            "proc/version": DYNAMIC,
            "proc/sys/kernel/sched_rt_runtime_us": "0",
            "proc/self/limits": LIMITS.format(memlock="65536", rtprio="0"),
            "proc/cpuinfo": "flags : hypervisor\n",
            "proc/swaps": "Filename\n/swap file 1 0 -2\n",
            "proc/99/comm": "brltty",
            "sys/devices/system/cpu/online": "0",
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave",
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
            "sys/bus/usb-serial/devices/ttyUSB0/latency_timer": "16",
        }
    )
    paper.locked, paper.free, paper.synchronised = {"dev/ttyUSB0", "dev/cpu_dma_latency"}, 0, False
    checks = paper.examine()
    assert [check.name for check in checks if check.level is CheckLevel.OK] == []
    assert all(check.remedy and check.meaning and check.found for check in checks)
