"""A body with two legs: one of the shipped ones, and its like beside it, further forward and turned."""

from __future__ import annotations

import re
from pathlib import Path

from nuc_engine.machine.locations import find_configuration

OTHER = "_2"
"""What names of the second leg end with."""

_MORE = 1000
_IDS = ("idNum", "parent", "start_state_idNum", "muscle", "activation_parameters", "boolstring")
_AMATRIX = "0 -1 0 12  1 0 0 -3  0 0 1 9  0 0 0 1"


def _number(text: str) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + _MORE) if found[0] != "0" else "0", text)


def _again(text: str) -> str:
    """Return elements once more, under other names and ids."""
    for attribute in _IDS:
        text = re.sub(rf'(\s{attribute}=")([^"]*)"', lambda found: f'{found[1]}{_number(found[2])}"', text)
    text = re.sub(r'(\sserialID=")(\d)"', lambda found: f'{found[1]}{int(found[2]) + 4}"', text)
    text = re.sub(r'(<hdsoMod idNum="1180" NumElts="16">)[^<]*', rf"\g<1>{_AMATRIX}", text)
    return re.sub(r'(\sname="[^"]*)"', rf'\g<1>{OTHER}"', text)


def write_two_legs(folder: Path, name: str = "lin_roach") -> Path:
    """Write the configuration into a new folder, and return that."""
    folder.mkdir(parents=True)
    source = find_configuration(name)
    for file, element in (("joints.xml", "joint"), ("parameters.xml", "hdso"), ("sensors.xml", "hdso")):
        text = (source / file).read_text(encoding="utf-8")
        begin, end = text.index(f"  <{element} "), text.rindex("</")
        first = text[begin:end]
        # Motors' sensors, two of each, are found by their order: those of all motors come first.
        cut = [found.start() for found in re.finditer("  <hdso ", first)][8] if file == "sensors.xml" else len(first)
        again = re.sub(r'  <hdso idNum="0".*?</hdso>\n', "", first, flags=re.DOTALL)
        cut_again = cut - (len(first) - len(again))
        both = first[:cut] + _again(again[:cut_again]) + first[cut:] + _again(again[cut_again:])
        (folder / file).write_text(text[:begin] + both + text[end:], encoding="utf-8")
    return folder
