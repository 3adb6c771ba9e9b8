"""docs/packet_bus.md draws the states of a servo as the code has them, and names what there is."""

import re

from tests.docs.packet_bus_page import PAGE, filled


def test_its_tables_are_the_codes():
    page = PAGE.read_text("utf-8")
    assert filled(page) == page


def test_the_modules_it_names_are_there():
    named = re.findall(r"`(drivers/[a-z_/]+\.py)`", PAGE.read_text("utf-8"))
    assert len(named) > 5
    assert [name for name in named if not (PAGE.parents[1] / name).is_file()] == []
