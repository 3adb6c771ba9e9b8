"""Every cycle for other programs: two processes, as fast as they can, and a daemon beside a compiled reader."""

from __future__ import annotations

import mmap
import os
import shutil
import signal
import subprocess
import time  # noqa: TID251  real processes live on the real clock
from itertools import pairwise
from pathlib import Path

import pytest

import nuc_engine.client
from nuc_engine.client.cycles import Cycles
from nuc_engine.daemon.cyclering import SLOTS_AT, CycleRing
from nuc_engine.machine.rundir import CYCLES
from tests.realtime.daemon import wait_for

WIDE = [("number", "1", "i8"), *((f"c{k}", "1", "f8") for k in range(60))]
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler here")

READER = r"""
#include "nuc_cycles.h"
#include <time.h>
int main(int count, char **words) {
    struct nuc_cycles cycles;
    unsigned long read = 0, torn = 0;
    if (count < 4 || nuc_cycles_open(&cycles, words[1])) return 2;
    int column = nuc_cycles_column(&cycles, words[2]);
    if (column < 0 || nuc_cycles_column(&cycles, "nonsense") >= 0) return 3;
    int64_t before = -1;
    time_t end = time(NULL) + atoi(words[3]);
    while (time(NULL) < end) {
        enum nuc_cycles_result result = nuc_cycles_read(&cycles);
        if (result == NUC_CYCLES_CHANGED) return 4;
        if (result == NUC_CYCLES_NONE) { usleep(count > 4 ? 0 : 1000); continue; }
        int64_t number = nuc_cycles_i8(&cycles, column);
        if (count > 4)
            for (uint32_t k = 1; k < cycles.columns; k++) torn += nuc_cycles_f8(&cycles, (int)k) != (double)number;
        torn += number <= before;
        before = number;
        read++;
    }
    printf("%lu %lu %lu %ld\n", read, torn, (unsigned long)cycles.overruns, (long)before);
    nuc_cycles_close(&cycles);
    return 0;
}
"""


@pytest.fixture
def writer(tmp_path):
    """A process that writes records, all numbers of one the same, as fast as it can, over very few slots."""
    fd = os.open(tmp_path / CYCLES, os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, SLOTS_AT + 8 * (16 + 8 * len(WIDE)))
    ring = CycleRing(mmap.mmap(fd, 0))
    ring.begin("leg", WIDE)
    pid = os.fork()
    if pid == 0:
        number = 0
        end = time.monotonic() + 60
        while time.monotonic() < end:
            ring.put([number] * len(WIDE))
            number += 1
        os._exit(0)
    yield tmp_path / CYCLES
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def compiled(folder: Path) -> Path:
    (folder / "reader.c").write_text(READER)
    header = Path(nuc_engine.client.__file__).parent
    words = [str(COMPILER), "-O2", "-Wall", "-Wextra", "-Werror", f"-I{header}", "-o", "reader", "reader.c"]
    subprocess.run(words, cwd=folder, check=True)
    return folder / "reader"


def test_no_record_is_torn_and_none_is_missing_uncounted(writer):
    reader, found = Cycles(writer), []
    wait_for(lambda: found.extend(reader.read(1)) or found, "a record")
    before = reader.overruns
    end = time.monotonic() + 3
    while time.monotonic() < end:
        found += reader.read(1000)
    assert len(found) > 1000
    assert all(set(record) == {record[0]} for record in found)
    numbers = [record[0] for record in found]
    assert all(a < b for a, b in pairwise(numbers))
    assert reader.overruns, "over so few slots some are written over"
    assert numbers[-1] + 1 - numbers[0] == len(found) + reader.overruns - before


@needs_compiler
def test_a_program_in_c_reads_the_same(writer, tmp_path):
    done = subprocess.run(
        [compiled(tmp_path), writer, "number", "3", "torn"], capture_output=True, text=True, check=True
    )
    read, torn, overruns, last = map(int, done.stdout.split())
    assert read > 1000
    assert torn == 0
    assert overruns > 0
    assert read + overruns <= last + 1


@needs_compiler
def test_a_program_in_c_has_every_cycle_of_a_daemon(bench, tmp_path):
    _, served = bench
    with subprocess.Popen(
        [compiled(tmp_path), served.sockets / CYCLES, "cycle", "4"], stdout=subprocess.PIPE, text=True
    ) as program:
        reader = Cycles(served.sockets / CYCLES)
        time.sleep(0.3)
        served.run_bout(1.0)
        served.client.stop()
        told, _ = program.communicate()
    read, _, overruns, _ = map(int, told.split())
    bouts = [record[reader.names.index("cycle")] for record in reader.read() if record[reader.names.index("bout")]]
    assert bouts == list(range(bouts[0], bouts[0] + len(bouts)))
    assert len(bouts) > 80
    assert overruns == reader.overruns == 0
    assert read > len(bouts)
    wait_for(lambda: not served.words()["bout"], "the end of the bout", served)
