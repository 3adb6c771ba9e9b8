"""Least squares, and a small multilayer perceptron in NumPy that learns what they leave over.

The perceptron has rectified linear units, inputs whitened by the training data, and is fitted by Adam (Kingma and Ba
2015) with a rate that falls as a cosine. A clipped linear law is a sum of such units, which is why they are used; and a
sum of products comes out the same wherever a sine or an exponential may not.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nuc_engine.surrogate.inputs import Array

BATCH = 512
RATE = 2e-3
_SMALLEST = 1e-6
"""Variance of a direction of the inputs, as a share of the largest, below which it is taken for none."""

Layers = list[tuple[Array, Array]]
"""Weights (inputs, outputs) and biases (outputs), layer by layer."""


def least_squares(x: Array, y: Array) -> tuple[Array, Array]:
    """Return weights and biases that come nearest to y (rows, outputs) from x (rows, inputs)."""
    with_one = np.hstack([x, np.ones((len(x), 1))])
    found = np.linalg.lstsq(with_one, y, rcond=1e-10)[0]
    return found[:-1], found[-1]


def forward(layers: Layers, x: Array) -> Array:
    """Return the outputs for inputs, of one row or of many."""
    for weights, biases in layers[:-1]:
        x = np.maximum(x @ weights + biases, 0.0)
    weights, biases = layers[-1]
    return x @ weights + biases


def fit_layers(x: Array, y: Array, hidden: Sequence[int], seed: int, steps: int) -> Layers:
    """Return layers that were fitted to y by so many steps of Adam; the seed decides beginning and batches."""
    mean, whiten = _whitening(x)
    centre, scale = y.mean(axis=0), y.std(axis=0)
    scale[scale == 0] = 1.0
    inputs, wanted = ((x - mean) @ whiten).astype(np.float32), ((y - centre) / scale).astype(np.float32)
    fitted = _adam(inputs, wanted, hidden, np.random.default_rng(seed), steps)
    layers: Layers = [(weights.astype(np.float64), biases.astype(np.float64)) for weights, biases in fitted]
    # Whitening and scaling become part of the first and last layer.
    weights, biases = layers[0]
    layers[0] = (whiten @ weights, biases - mean @ whiten @ weights)
    weights, biases = layers[-1]
    layers[-1] = (weights * scale, biases * scale + centre)
    return layers


def _whitening(x: Array) -> tuple[Array, Array]:
    mean, scale = x.mean(axis=0), x.std(axis=0)
    scale[scale == 0] = 1.0
    standard = (x - mean) / scale
    variances, directions = np.linalg.eigh(standard.T @ standard / len(x))
    kept = variances > _SMALLEST * variances[-1]
    return mean, directions[:, kept] / np.sqrt(variances[kept]) / scale[:, None]


def _adam(x: Array, y: Array, hidden: Sequence[int], rng: np.random.Generator, steps: int) -> Layers:
    sizes = (x.shape[1], *hidden, y.shape[1])
    count = len(sizes) - 1
    weights = [rng.normal(0.0, np.sqrt(2.0 / a), (a, b)) for a, b in pairwise(sizes)]
    weights[-1] *= 0.1
    biases = [np.zeros(size) for size in sizes[1:]]
    numbers: list[Array] = [each.astype(np.float32) for each in (*weights, *biases)]
    means, squares = ([np.zeros_like(each) for each in numbers] for _ in range(2))
    for step in range(1, steps + 1):
        rows = rng.integers(len(x), size=BATCH)
        slopes = _slopes(numbers, x[rows], y[rows], count)
        rate = np.float32(RATE * 0.5 * (1.0 + np.cos(np.pi * step / steps)))
        small, large = np.float32(1.0 - 0.9**step), np.float32(1.0 - 0.999**step)
        for k, slope in enumerate(slopes):
            means[k] += np.float32(0.1) * (slope - means[k])
            squares[k] += np.float32(0.001) * (slope * slope - squares[k])
            numbers[k] -= rate * (means[k] / small) / (np.sqrt(squares[k] / large) + np.float32(1e-8))
    return list(zip(numbers[:count], numbers[count:], strict=True))


def _slopes(numbers: list[Array], x: Array, y: Array, count: int) -> list[Array]:
    """Return the derivatives of the mean squared error by weights and biases."""
    seen = [x]
    for weights, biases in zip(numbers[: count - 1], numbers[count:-1], strict=True):
        seen.append(np.maximum(seen[-1] @ weights + biases, 0))
    back = (seen[-1] @ numbers[count - 1] + numbers[-1] - y) * np.float32(2.0 / len(x))
    slopes: list[Array] = [back] * (2 * count)
    for layer in reversed(range(count)):
        slopes[layer], slopes[count + layer] = seen[layer].T @ back, back.sum(axis=0)
        if layer:
            back = (back @ numbers[layer].T) * (seen[layer] > 0)
    return slopes
