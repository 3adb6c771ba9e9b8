"""A fitted surrogate: as the table [controller] of a RunConfig, and as what flies.

    [controller]
    kind = "surrogate"
    dt_s = 0.01                   # of the logs it learned from, and of every flight it makes
    memory = 8                    # steps whose errors it is given
    hidden = [64, 64]
    cover = 600                   # kept rows of its training data
    weights = "..."               # little-endian floats, base64
    weights_sha256 = "..."
    training_sha256 = "..."       # of the rows it learned from
    teacher_sha256 = "..."        # of the table [controller] that flew them
    trained = "..."               # on what, in words

The weights are, in this order: the control before the first step (4), least squares (inputs x 4, and 4), each layer of
the perceptron (weights, biases), the scale of the errors (7), the kept rows (cover x 7), and their radius.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from nuc_engine.episode.fields import Fields
from nuc_engine.episode.system import Numbers, Pilot, Systems
from nuc_engine.flight.appendix import CONTROL
from nuc_engine.flight.tables import FLIGHT, read_controller
from nuc_engine.surrogate.cover import Cover
from nuc_engine.surrogate.inputs import ERRORS, Array, missing
from nuc_engine.surrogate.network import Layers, forward

KIND = "surrogate"
BEYOND = "beyond"
"""The column of a log that marks states beyond the training data."""
MOST_MEMORY, MOST_UNITS, MOST_LAYERS, MOST_COVER = 100, 256, 4, 4096
_LONGEST = 1 << 18


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What was fitted. The control is least squares and, where there are layers, what the perceptron adds to them."""

    dt_s: float
    memory: int
    before: Array
    linear: tuple[Array, Array]
    layers: Layers
    cover: Cover
    training_sha256: str
    teacher_sha256: str
    trained: str

    def control(self, x: Array) -> Array:
        """Return the control (4) for inputs (7 memory + 4), or for rows of them."""
        weights, biases = self.linear
        control = x @ weights + biases
        return control + forward(self.layers, x) if self.layers else control

    def baseline(self) -> Surrogate:
        """Return the least squares alone, on the same inputs."""
        return replace(self, layers=[])

    def table(self) -> dict[str, Any]:
        """Return the table [controller] of a RunConfig."""
        arrays = [self.before, *self.linear, *(each for layer in self.layers for each in layer)]
        arrays += [self.cover.scale, self.cover.rows, np.array([self.cover.radius])]
        weights = np.concatenate([each.ravel() for each in arrays]).astype("<f4").tobytes()
        return {
            "kind": KIND,
            "dt_s": self.dt_s,
            "memory": self.memory,
            "hidden": [len(biases) for _, biases in self.layers[:-1]],
            "cover": len(self.cover.rows),
            "weights": base64.b64encode(weights).decode(),
            "weights_sha256": hashlib.sha256(weights).hexdigest(),
            "training_sha256": self.training_sha256,
            "teacher_sha256": self.teacher_sha256,
            "trained": self.trained,
        }


class _Law:
    """A surrogate in flight: its memory is that of one episode."""

    def __init__(self, surrogate: Surrogate) -> None:
        self._surrogate = surrogate
        self._errors = len(ERRORS) * surrogate.memory
        self._inputs = np.concatenate([np.zeros(self._errors), surrogate.before])

    def __call__(self, state: Numbers, reference: Numbers) -> Numbers:
        now, end = self._inputs, self._errors
        now[len(ERRORS) : end] = now[: end - len(ERRORS)].copy()
        now[: len(ERRORS)] = missing(state, reference)
        with np.errstate(all="ignore"):  # where numbers are none any more, the loop ends the episode
            control = self._surrogate.control(now)
        now[end:] = control
        return tuple(control.tolist())

    def beyond(self) -> bool:
        """Say whether the state of the last step is beyond the training data."""
        cover = self._surrogate.cover
        with np.errstate(all="ignore"):
            return not cover.distance(self._inputs[: len(ERRORS)]) <= cover.radius


def fly(surrogate: Surrogate) -> Pilot:
    """Return what flies one episode; it marks the states that are beyond its training data."""
    law = _Law(surrogate)
    return Pilot(law, law.beyond, BEYOND)


def read_surrogate(table: Fields, dt_s: float) -> Callable[[], Pilot]:
    """Return a maker of pilots from the table of a surrogate."""
    surrogate = surrogate_of(table)
    if surrogate is None:
        return lambda: Pilot(lambda _state, _reference: (0.0,) * len(CONTROL))
    if surrogate.dt_s != dt_s:
        table.wrong("dt_s", f"{surrogate.dt_s:g}", f"timing.dt_s, which is {dt_s:g}: its memory is of such steps")
    return partial(fly, surrogate)


def surrogate_of(table: Fields) -> Surrogate | None:
    """Return the surrogate of a table, None where something is wrong with it, which is noted there."""
    before = len(table.problems)
    table.word("kind", (KIND,))
    dt_s = table.number("dt_s", 0.0, 10.0, above=True)
    memory, kept = table.whole("memory", 1, MOST_MEMORY, 1), table.whole("cover", 1, MOST_COVER, 1)
    hidden = table.wholes("hidden", 1, MOST_UNITS, MOST_LAYERS)
    text, expected = table.text("weights", _LONGEST), table.text("weights_sha256", 64)
    training, teacher = table.text("training_sha256", 64), table.text("teacher_sha256", 64)
    trained = table.text("trained", 1000)
    table.close()
    if len(table.problems) > before:
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        table.wrong("weights", f"{error}", "base64")
        return None
    shapes = _shapes(memory, hidden, kept)
    size = 4 * sum(int(np.prod(shape)) for shape in shapes)
    if len(content) != size:
        table.wrong("weights", f"{len(content)} bytes", f"{size}, by memory, hidden and cover")
        return None
    if hashlib.sha256(content).hexdigest() != expected:
        table.wrong("weights_sha256", expected, "the sum of the weights")
        return None
    numbers = np.frombuffer(content, "<f4").astype(np.float64)
    arrays = iter(np.split(numbers, np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]))
    start, weights, biases, *others = [next(arrays).reshape(shape) for shape in shapes]
    *parts, scale, rows, radius = others
    if not np.isfinite(numbers).all() or not (scale > 0).all():
        table.wrong("weights", "numbers that are none, or scales that are not above 0", "those of a fitted surrogate")
        return None
    layers: Layers = list(zip(parts[::2], parts[1::2], strict=True))
    found = Cover(scale, rows, float(radius[0]))
    return Surrogate(dt_s, memory, start, (weights, biases), layers, found, training, teacher, trained)


def weights_apart(content: Mapping[str, Any], file: str) -> tuple[dict[str, Any], bytes]:
    """Return a document, or what replaces some of one, with a surrogate's weights in a file of that name; and these.

    They are empty, and the document is as it was, where no surrogate's weights stand in it as text.
    """
    table: Any = content.get("controller")
    if not isinstance(table, dict) or cast(dict[str, Any], table).get("kind") != KIND:
        return dict(content), b""
    named = cast(dict[str, Any], table)
    weights = base64.b64decode(named["weights"])
    reference = {"file": file, "sha256": hashlib.sha256(weights).hexdigest()}
    if base64.b64encode(weights).decode() != named["weights"]:  # would not come back to the letter
        return dict(content), b""
    return {**content, "controller": {**named, "weights": reference}}, weights


def weights_back(content: Mapping[str, Any], read: Callable[[str], bytes]) -> dict[str, Any]:
    """Return a document whose weights `weights_apart` took out, with them; `read` returns the bytes of a file."""
    table: Any = content.get("controller")
    reference: Any = cast(dict[str, Any], table).get("weights") if isinstance(table, dict) else None
    if not isinstance(reference, dict):
        return dict(content)
    weights = read(str(cast(dict[str, Any], reference).get("file")))
    return {**content, "controller": {**table, "weights": base64.b64encode(weights).decode()}}


def _shapes(memory: int, hidden: tuple[int, ...], kept: int) -> list[tuple[int, ...]]:
    inputs, outputs, errors = len(ERRORS) * memory + len(CONTROL), len(CONTROL), len(ERRORS)
    sizes = (inputs, *hidden, outputs) if hidden else ()
    layers = [shape for a, b in pairwise(sizes) for shape in ((a, b), (b,))]
    return [(outputs,), (inputs, outputs), (outputs,), *layers, (errors,), (kept, errors), (1,)]


def _read_controller(table: Fields, dt_s: float) -> Callable[[], Pilot]:
    if table.data.get("kind") == KIND:
        return read_surrogate(table, dt_s)
    return read_controller(table, dt_s, (KIND,))


SYSTEMS: Systems = MappingProxyType({"flight": replace(FLIGHT, read_controller=_read_controller)})
"""Every system there is, with surrogates among its controllers."""
