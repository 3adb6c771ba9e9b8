"""The udev rules, on devices of paper. udev's own check runs too, where its version has one (254 and later)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatchcase

import pytest

from tests.systemd.units import FOLDER

RULES = FOLDER / "99-nuc.rules"
PART = re.compile(r'([A-Z_]+)(?:\{([^}]+)\})?(==|!=|\+=|:=|=)"([^"]*)"')
MATCHES = {"ACTION", "KERNEL", "SUBSYSTEM", "DRIVER", "ENV", "ATTR"}
ASSIGNS = {"SYMLINK", "GROUP", "MODE", "ENV", "ATTR", "GOTO", "LABEL"}

Part = tuple[str, str, str, str]


def parse(text: str) -> list[list[Part]]:
    """Rules as lists of (key, attribute, operator, value). Raises ValueError for anything udev would not take."""
    rules = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        rule = []
        for piece in re.split(r",\s*(?=[A-Z])", line.strip()):
            match = PART.fullmatch(piece)
            if match is None:
                raise ValueError(f"no rule: {piece}")
            key, attribute, operator, value = match.groups(default="")
            if key not in (MATCHES if operator in ("==", "!=") else ASSIGNS):
                raise ValueError(f"{key} cannot stand before {operator}")
            rule.append((key, attribute, operator, value))
        rules.append(rule)
    return rules


def value_of(device: Mapping[str, str], key: str, attribute: str) -> str:
    return device.get(f"{key}.{attribute}" if attribute else key, "")


def apply(rules: list[list[Part]], device: Mapping[str, str]) -> dict[str, list[str]]:
    """What the rules assign to a device with these properties."""
    assigned: dict[str, list[str]] = {}
    waits_for = ""
    for rule in rules:
        label = next((value for key, _, _, value in rule if key == "LABEL"), "")
        if waits_for and label != waits_for:
            continue
        waits_for = ""
        tests = [part for part in rule if part[2] in ("==", "!=")]
        if not all(
            any(fnmatchcase(value_of(device, key, attribute), one) for one in value.split("|")) == (operator == "==")
            for key, attribute, operator, value in tests
        ):
            continue
        for key, attribute, operator, value in rule:
            if operator in ("==", "!=") or key == "LABEL":
                continue
            if key == "GOTO":
                waits_for = value
                continue
            text = re.sub(r"\$env\{(\w+)\}", lambda match: value_of(device, "ENV", match[1]), value)
            assigned.setdefault(f"{key}.{attribute}" if attribute else key, []).append(text)
    assert not waits_for, f"no label {waits_for}"
    return assigned


TTY = {"ACTION": "add", "SUBSYSTEM": "tty", "KERNEL": "ttyUSB0", "ENV.ID_BUS": "usb"}


@pytest.fixture
def rules() -> list[list[Part]]:
    return parse(RULES.read_text())


def test_an_ftdi_adapter_holds_replies_back_for_one_millisecond(rules: list[list[Part]]) -> None:
    port = {"ACTION": "add", "SUBSYSTEM": "usb-serial", "KERNEL": "ttyUSB0", "DRIVER": "ftdi_sio"}
    assert apply(rules, port) == {"ATTR.latency_timer": ["1"]}
    assert apply(rules, {**port, "DRIVER": "cp210x"}) == {}


def test_an_adapter_has_a_name_that_stays_and_no_modem_manager(rules: list[list[Part]]) -> None:
    found = apply(rules, {**TTY, "ENV.ID_SERIAL_SHORT": "A50285BI", "ENV.ID_VENDOR_ID": "0403"})
    assert found == {
        "SYMLINK": ["nuc/A50285BI"],
        "GROUP": ["dialout"],
        "MODE": ["0660"],
        "ENV.ID_MM_DEVICE_IGNORE": ["1"],
    }


@pytest.mark.parametrize(
    ("change", "absent"),
    [
        ({"ENV.ID_SERIAL_SHORT": ""}, {"SYMLINK"}),
        ({"ENV.ID_VENDOR_ID": "1199"}, {"ENV.ID_MM_DEVICE_IGNORE"}),
        ({"KERNEL": "ttyS0", "ENV.ID_BUS": ""}, {"SYMLINK", "GROUP", "MODE"}),
        ({"ACTION": "remove"}, {"SYMLINK", "GROUP", "MODE", "ENV.ID_MM_DEVICE_IGNORE"}),
    ],
)
def test_other_devices_are_left_alone(rules: list[list[Part]], change: dict[str, str], absent: set[str]) -> None:
    device = {**TTY, "ENV.ID_SERIAL_SHORT": "A50285BI", "ENV.ID_VENDOR_ID": "0403"}
    assert set(apply(rules, device)) - set(apply(rules, {**device, **change})) == absent


def test_the_line_that_names_a_leg_works_as_the_remark_shows_it(rules: list[list[Part]]) -> None:
    (line,) = re.findall(r'(?m)^#\s+(SUBSYSTEM==.*nuc/lin_roach")$', RULES.read_text())
    device = {**TTY, "ENV.ID_SERIAL_SHORT": "A50285BI"}
    assert apply(rules + parse(line), device)["SYMLINK"] == ["nuc/A50285BI", "nuc/lin_roach"]
    assert "nuc/lin_roach" not in apply(rules + parse(line), {**device, "ENV.ID_SERIAL_SHORT": "B"})["SYMLINK"]


def test_the_engine_may_keep_the_cpu_awake(rules: list[list[Part]]) -> None:
    device = {"ACTION": "add", "SUBSYSTEM": "misc", "KERNEL": "cpu_dma_latency"}
    assert apply(rules, device) == {"GROUP": ["nuc"], "MODE": ["0660"]}


@pytest.mark.parametrize(
    "line", ['KERNEL="x", KERNEL+="y"', 'SYMLINK=="a"', "KERNEL==x", 'kernel=="x"', 'KERNEL=="x" MODE="1"']
)
def test_a_broken_rule_would_be_noticed(line: str) -> None:
    with pytest.raises(ValueError, match=r"no rule|cannot stand"):
        parse(line)


def test_udev_finds_no_fault() -> None:
    program = shutil.which("udevadm")
    if program is None or "verify" not in _run(program, "--help").stdout:
        pytest.skip("no udevadm with `verify` on this machine: it comes with udev 254")
    done = _run(program, "verify", "--resolve-names=never", str(RULES))
    assert done.returncode == 0, done.stdout + done.stderr


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)
