"""Generic functions of one argument and muscle activations, bound to the store once and then only called.

Sources: function types, comment of `function_spec` (appendix 10.2, section 2.1); activations, equations 7-1 to 7-4.
Parameters are read from the store at every call, so a change of an HDSO acts at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from nuc_engine.control.delays import Delays
from nuc_engine.model.extensions import ADDED, find_extension
from nuc_engine.model.plan import ActivationPlan, FunctionPlan, InfluencePlan, Slot
from nuc_engine.model.store import BufferView, Store

Function = Callable[[float], float]
Activation = Callable[[], float]
Locate = Callable[[Slot], tuple[BufferView, int]]


def bind_function(plan: FunctionPlan, store: Store) -> Function:
    """Return the function as a callable of its argument.

    constant: p0; linear: p0 x + p1; parabolic: ((x - p1)^2 + 4 p0 p2) / (4 p0); hyperbolic: p0 / (x - p1) + p2;
    rectified, of influences: max(0, x - p0); or one that was added, of x, p0, p1, ..
    Raises KeyError for another type; the callable raises ZeroDivisionError where the formula has no value.
    """
    cells = [store.locate(slot) for slot in plan.parameters]
    if plan.type.startswith(ADDED):
        added = find_extension("functions", plan.type.removeprefix(ADDED))
        return lambda x: added(x, *[view[at] for view, at in cells])
    return _FUNCTIONS[plan.type](*(item for cell in cells for item in cell))


def _constant(a: BufferView, i: int) -> Function:
    return lambda _: a[i]


def _rectified(a: BufferView, i: int) -> Function:
    return lambda x: max(0.0, x - a[i])


def _linear(a: BufferView, i: int, b: BufferView, j: int) -> Function:
    return lambda x: a[i] * x + b[j]


def _parabolic(a: BufferView, i: int, x0: BufferView, j: int, c: BufferView, k: int) -> Function:
    def parabola(x: float) -> float:
        four_a, centre = 4.0 * a[i], x0[j]
        return (x * x - 2.0 * x * centre + centre * centre + four_a * c[k]) / four_a

    return parabola


def _hyperbolic(a: BufferView, i: int, x0: BufferView, j: int, c: BufferView, k: int) -> Function:
    return lambda x: a[i] / (x - x0[j]) + c[k]


_FUNCTIONS: Mapping[str, Callable[..., Function]] = MappingProxyType(
    {
        "constant": _constant,
        "linear": _linear,
        "rectified": _rectified,
        "parabolic": _parabolic,
        "hyperbolic": _hyperbolic,
    }
)


def bind_activation(plan: ActivationPlan, store: Store, delays: Delays | None = None) -> Activation:
    """Return the activation as a callable without arguments.

    constant: p0; linear: K(s0) (eq. 7-1); bilinear: 2 K(s0) + K'(s1) (eq. 7-2), with K of eq. 7-3 over the five
    parameters a, b, c, wmin, wmax of each kernel. Influences add gain x f(signal) to any of them; the sum is kept
    within the activation's bounds, 0 and 1 unless given, but is taken no farther from what it is without influences.
    Sensors with a delay are taken from `delays`; without these, as they are now.
    """
    base = _bind_base(plan, store, delays)
    return _influenced(base, plan, store) if plan.influences else base


def _bind_base(plan: ActivationPlan, store: Store, delays: Delays | None) -> Activation:
    locate: Locate = store.locate if delays is None else delays.locate
    if plan.function.startswith(ADDED):
        added = find_extension("activations", plan.function.removeprefix(ADDED))
        sensors = [locate(slot) for slot in plan.sensors]
        cells = [store.locate(slot) for slot in plan.parameters]
        return lambda: added([view[at] for view, at in sensors], [view[at] for view, at in cells])
    if plan.function == "constant":
        view, at = store.locate(plan.parameters[0])
        return lambda: view[at]
    kernels = [_kernel(plan, store, locate, k) for k in range(len(plan.sensors))]
    if plan.function == "linear":
        return kernels[0]
    first, second = kernels
    return lambda: 2.0 * first() + second()


def _influenced(base: Activation, plan: ActivationPlan, store: Store) -> Activation:
    terms = [_influence(influence, store) for influence in plan.influences]
    bounds = [store.locate(slot) for slot in plan.bounds]

    def influenced() -> float:
        value = base()
        asked = value
        for term in terms:
            asked += term()
        if asked - asked != 0.0:
            return math.nan
        low, high = (view[at] for view, at in bounds) if bounds else (0.0, 1.0)
        return max(min(low, value), min(max(high, value), asked))

    return influenced


def _influence(plan: InfluencePlan, store: Store) -> Activation:
    (signal, at), (gain, k) = store.locate(plan.signal), store.locate(plan.gain)
    if plan.function is None:
        return lambda: gain[k] * signal[at]
    function = bind_function(plan.function, store)
    # Of gain 0 it is nothing, also where its function has no value.
    return lambda: gain[k] and gain[k] * function(signal[at])


def _kernel(plan: ActivationPlan, store: Store, locate: Locate, number: int) -> Activation:
    sensor, at = locate(plan.sensors[number])
    cells = [store.locate(slot) for slot in plan.parameters[5 * number : 5 * number + 5]]
    (va, a), (vb, b), (vc, c), (vlow, low), (vhigh, high) = cells

    def kernel() -> float:
        wmin = vlow[low]
        p = (sensor[at] - wmin) / (vhigh[high] - wmin)
        return max(0.0, va[a] + vb[b] * p + vc[c] * (1.0 - p))

    return kernel
