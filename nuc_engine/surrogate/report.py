"""What came out, as a page: where the surrogates flew comes first, what they predict one step ahead last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from nuc_engine.flight.appendix import CONTROL
from nuc_engine.surrogate.evaluate import NEAR_M, STRETCH_M, TEACHER, Flown
from nuc_engine.surrogate.inputs import ERRORS, Array
from nuc_engine.surrogate.pilot import Surrogate


@dataclass(frozen=True, slots=True)
class FlightOutcome:
    """Flights of one RunConfig by one controller over seeds: distances in m, numbers of flights, a share of steps.

    `called` counts the flights that were not near and were called beyond the training data before they were lost,
    `near_called` those that were called and came near nonetheless.
    """

    config: str
    who: str
    flights: int
    median_m: float
    worst_m: float
    off_m: float
    near: int
    stretch: int
    beyond: float
    called: int
    near_called: int


def outcomes(flights: Sequence[Flown]) -> list[FlightOutcome]:
    """Return what became of flights, by RunConfig and by who flew."""
    found: list[FlightOutcome] = []
    for config, who in dict.fromkeys((flown.config, flown.who) for flown in flights):
        each = [flown for flown in flights if (flown.config, flown.who) == (config, who)]
        found.append(
            FlightOutcome(
                config,
                who,
                len(each),
                median(flown.apart_m for flown in each),
                max(flown.apart_m for flown in each),
                median(flown.off_m for flown in each),
                sum(flown.near for flown in each),
                sum(flown.apart_m <= STRETCH_M for flown in each),
                sum(flown.beyond for flown in each) / len(each),
                sum(flown.called and not flown.near for flown in each),
                sum(flown.called_s is not None and flown.near for flown in each),
            )
        )
    return found


def report_text(
    title: str,
    surrogates: Mapping[str, Surrogate],
    flights: Sequence[Flown],
    one_step: Mapping[str, Array],
    other_teacher: Sequence[str],
    figure: str,
) -> str:
    """Return a report as a page in Markdown."""
    found = outcomes(flights)
    seeds = sorted({flown.seed for flown in flights})
    lost = [flown for flown in flights if not flown.near]
    parts = [
        f"# {title}",
        f"{len(seeds)} seeds, {seeds[0]} to {seeds[-1]}. Each episode was flown by the controller of its RunConfig, the"
        " teacher, and by each of the others in its place. Distances are root mean squares over a flight, in cm: from"
        " the teacher's flight the median and the worst over seeds, from the reference the median.",
        _table(
            ("RunConfig", "flown by", "from teacher's", "worst", "within 15 cm", "within 5 cm", "from reference"),
            [
                (
                    each.config,
                    each.who,
                    *(("", "", "", "") if each.who == TEACHER else _distances(each)),
                    distance_text(each.off_m),
                )
                for each in found
            ],
        ),
        *([f"**Another teacher** than they learned from flies {', '.join(other_teacher)}."] if other_teacher else []),
        f"![paths and distances]({figure})" if figure else "",
        "## Beyond the training data",
        "A state is beyond them where its errors, each divided by its standard deviation, are further from the nearest"
        " of the rows that were kept than any row of the training data is. `called`: of the flights that did not come"
        f" within {100 * NEAR_M:g} cm, so many were beyond before they were {100 * NEAR_M:g} cm away, or ended.",
        _table(
            ("RunConfig", "flown by", "steps beyond", "not near", "of these called", "near, but called"),
            [
                (
                    each.config,
                    each.who,
                    f"{100 * each.beyond:.1f} %",
                    str(each.flights - each.near),
                    str(each.called),
                    str(each.near_called),
                )
                for each in found
                if each.who != TEACHER
            ],
        ),
        *_lost(lost),
        "Where the training data of each end:",
        _table(
            ("error", *surrogates),
            [(name, *(_end(each, k) for each in surrogates.values())) for k, name in enumerate(ERRORS)]
            + [("kept rows, radius", *(f"{len(s.cover.rows)}, {s.cover.radius:.3g}" for s in surrogates.values()))],
        ),
        "## What they learned from",
        "\n".join(
            f"- {name}: {each.trained}. Rows: sha256 `{each.training_sha256}`."
            for name, each in surrogates.items()
            if each.layers
        ),
        "## One step ahead",
        "The share of each control's variance that is predicted from the rows of the teacher's flights above. It says"
        " little of where they fly.",
        _table(
            ("", *CONTROL),
            [(name, *(f"{share:.6f}" for share in shares)) for name, shares in one_step.items()],
        ),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _distances(each: FlightOutcome) -> tuple[str, ...]:
    return (
        distance_text(each.median_m),
        distance_text(each.worst_m),
        f"{each.near} of {each.flights}",
        f"{each.stretch} of {each.flights}",
    )


def _lost(lost: Sequence[Flown]) -> list[str]:
    if not lost:
        return ["Every flight came near."]
    rows = [
        (f.config, f.who, str(f.seed), distance_text(f.apart_m), _seconds(f.called_s), _seconds(f.lost_s), f.reason)
        for f in lost
    ]
    columns = ("RunConfig", "flown by", "seed", "from teacher's", "beyond from, s", "15 cm away from, s", "")
    return [f"Flights that did not come within {100 * NEAR_M:g} cm:", _table(columns, rows)]


def _end(surrogate: Surrogate, error: int) -> str:
    least, most = (ends[error] for ends in surrogate.cover.ends())
    return f"{least:.3g} to {most:.3g}"


def distance_text(distance_m: float) -> str:
    """Return a distance in cm; an infinite one is that of a flight that ended early."""
    return "ended early" if distance_m == float("inf") else f"{100 * distance_m:.3g}"


def _seconds(time_s: float | None) -> str:
    return "never" if time_s is None else f"{time_s:.2f}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
