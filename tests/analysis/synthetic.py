"""Legs that step on paper: tracks of known gaits, for the detector to find or to refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nuc_engine.analysis.bout import Bout, JointInfo, StateInfo
from nuc_engine.analysis.series import Series
from nuc_engine.analysis.tracks import JointRole, LegTracks, ModuleTrack

DEP, LEV, PRO_CTR, RET_CTR, EXT, FLX = range(6)

MODULES: tuple[tuple[JointRole, str, tuple[int, int], tuple[str, str]], ...] = (
    ("ThC", "Thorax-Coxa1", (DEP, LEV), ("TC1_protractionDEP", "TC1_retractionLEV")),
    ("CTr", "Coxa-Trochanter", (PRO_CTR, RET_CTR), ("CTr_LevationPRO", "CTr_DepressionRET")),
    ("FTi", "Femur-Tibia", (EXT, FLX), ("FT_Extension", "FT_Flexion")),
)


@dataclass(frozen=True)
class Gait:
    """A roach-like left leg: period, shares, what changes in stance, and how noisy it is."""

    period_s: float = 0.9
    swing_share: float = 0.55
    stride_cm: tuple[float, float] = (-7.0, 0.5)
    lift_cm: float = 2.0
    fti_deg: float = -60.0
    ctr_deg: float = -40.0
    thc_deg: float = 25.0
    load_n: float = 0.8
    action_lead: float = 0.08
    """The actions change this share of a period before the foot follows."""
    noise_deg: float = 0.0
    noise_cm: float = 0.0
    jitter: float = 0.0
    """Standard deviation of the step period, as a share of it."""
    side: float = 1.0
    seed: int = 1


FWD = Gait()
ITF = Gait(stride_cm=(-1.0, -5.0), fti_deg=45.0, ctr_deg=-15.0)
ITB = Gait(stride_cm=(1.0, -4.0), fti_deg=45.0, ctr_deg=20.0, swing_share=0.7)
STICK = Gait(
    period_s=1.6, swing_share=0.5, stride_cm=(-30.0, 2.0), fti_deg=35.0, ctr_deg=-15.0, side=-1.0, thc_deg=40.0
)


def phase(t: np.ndarray, gait: Gait, rng: np.random.Generator) -> np.ndarray:
    """Phase 0..1 of each time, 0 at lift-off; periods vary by the gait's jitter."""
    count = int(t[-1] / gait.period_s * 2) + 3
    periods = gait.period_s * (1 + gait.jitter * np.clip(rng.standard_normal(count), -2, 2))
    edges = np.concatenate(([0.0], np.cumsum(periods)))
    return np.interp(t, edges, np.arange(count + 1)) % 1.0


def progress(p: np.ndarray, swing_share: float) -> np.ndarray:
    """0 at touch-down, 1 at lift-off, straight lines between: how far stance has come."""
    return np.where(p < swing_share, 1 - p / swing_share, (p - swing_share) / (1 - swing_share))


def leg(gait: Gait = FWD, duration_s: float = 20.0, contact: bool = True) -> LegTracks:
    """Tracks of a gait kept up for `duration_s`: states at 40 Hz, sensors at 197 Hz, foot at 100 Hz."""
    rng = np.random.default_rng(gait.seed)
    t_state, t_sensor, t_foot = (np.arange(0, duration_s + 1e-9, dt) for dt in (0.025, 0.00508, 0.01))
    ps, pm, pf = (phase(t, gait, np.random.default_rng(gait.seed)) for t in (t_state, t_sensor, t_foot))
    s = progress(pm, gait.swing_share)
    noise = lambda: gait.noise_deg * rng.standard_normal(len(t_sensor))  # noqa: E731
    thc = 60 - gait.thc_deg / 2 * np.cos(2 * np.pi * (pm - gait.swing_share / 2)) + noise()
    ctr = 75 + gait.ctr_deg * (s - 0.5) + noise()
    fti = 95 + gait.fti_deg * (s - 0.5) + noise()
    early = (ps + gait.action_lead) % 1.0
    in_swing = early < gait.swing_share
    foot = np.empty((len(t_foot), 3))
    sf = progress(pf, gait.swing_share)
    foot[:, 0] = gait.stride_cm[0] * (sf - 0.5)
    foot[:, 1] = gait.side * (18 + gait.stride_cm[1] * (sf - 0.5))
    foot[:, 2] = np.where(pf < gait.swing_share, gait.lift_cm * np.sin(np.pi * pf / gait.swing_share), 0.0)
    foot += gait.noise_cm * rng.standard_normal(foot.shape)
    force = np.where(pf < gait.swing_share, 0.0, gait.load_n)
    actions = {
        "ThC": _two(in_swing, LEV, DEP),
        "CTr": _two(in_swing, PRO_CTR, RET_CTR),
        "FTi": _two(in_swing, FLX, EXT),
    }
    angles = {"ThC": thc, "CTr": ctr, "FTi": fti}
    modules = tuple(
        ModuleTrack(name, role, codes, names, actions[role], angles[role]) for role, name, codes, names in MODULES
    )
    return LegTracks(t_state, t_sensor, t_foot, modules, foot, force if contact else None, 28.1, DEP)


def with_module(tracks: LegTracks, role: str, **changes: object) -> LegTracks:
    """The same tracks with fields of one module replaced."""
    modules = tuple(replace(m, **changes) if m.role == role else m for m in tracks.modules)
    return replace(tracks, modules=modules)


def _two(mask: np.ndarray, yes: int, no: int) -> np.ndarray:
    return np.where(mask, yes, no).astype(np.int64)


COLORS = ((0.0, 0.58, 0.39), (0.66, 1.0, 0.0), (0.0, 0.86, 0.86), (0.0, 0.3, 0.64), (1.0, 0.4, 0.0), (0.7, 0.0, 0.22))
LINKS = ((9.0, 0.0, -np.pi / 2, np.pi / 180), (9.7, 0.0, np.pi, np.pi / 180), (9.4, 0.0, 0.0, np.pi / 180))


def bout(tracks: LegTracks | None = None, colors: bool = True, changesets: tuple[float, ...] = ()) -> Bout:
    """A bout that holds these tracks, with made-up currents, raw values and muscles."""
    tracks = leg() if tracks is None else tracks
    modules = tracks.modules
    joints = tuple(_joint(m, LINKS[k % 3]) for k, m in enumerate(modules))
    states = tuple(
        StateInfo(code, 201 + code, name, m.name, COLORS[code] if colors else None)
        for m in modules
        for code, name in zip(m.actions, m.action_names, strict=True)
    )
    sensors = [
        a for m in modules for a in (m.angle_deg, np.gradient(m.angle_deg) if len(m.angle_deg) > 1 else m.angle_deg)
    ]
    raw = [a for m in modules for a in (np.abs(m.angle_deg) // 10, m.angle_deg // 0.65)]
    acting = [a for m in modules for a in (m.action, m.action == m.actions[0], m.action != m.actions[0])]
    muscles = tuple(f"{muscle}.{what}" for j in joints for muscle in j.muscles for what in ("force", "length"))
    plant = None
    if tracks.contact_n is not None:
        plant = _series(
            tracks.t_foot_s, [*tracks.foot_cm.T, tracks.contact_n], ("foot_x", "foot_y", "foot_z", "contact")
        )
    return Bout(
        folder=Path("made-up"),
        label="paper_leg",
        joints=joints,
        states_of=states,
        motor=_series(tracks.t_sensor_s, raw, [c for j in joints for c in (j.raw_current, j.raw_position)]),
        sensors=_series(tracks.t_sensor_s, sensors, [c for j in joints for c in (j.angle, j.current)]),
        states=_series(tracks.t_state_s, acting, [c for j in joints for c in (j.action, *j.activations)]),
        muscles=_series(tracks.t_state_s, [np.zeros(len(tracks.t_state_s))] * len(muscles), muscles),
        plant=plant,
        changesets_s=changesets,
    )


def _joint(module: ModuleTrack, link: tuple[float, float, float, float]) -> JointInfo:
    name = module.name
    return JointInfo(
        name=name,
        role=module.role,
        states=module.actions,
        muscles=(f"{name}_flexor", f"{name}_extensor"),
        angle=f"{name}_angle",
        current=f"{name}_current",
        raw_current=f"{name}.current_raw",
        raw_position=f"{name}.position_raw",
        action=f"{name}.state",
        activations=(f"{name}.activation[0]", f"{name}.activation[1]"),
        amatrix=None,
        dh_line=link,
    )


def _series(t_s: np.ndarray, columns: list[np.ndarray], names: object) -> Series:
    values = np.stack([np.asarray(c, dtype=np.float64) for c in columns], axis=1)
    return Series(t_s, values, tuple(names), ("",) * len(columns))


def with_knee_actions(count: int) -> Bout:
    """A stick insect's bout whose knee has so many actions."""
    names = ("FT_Extension", "FT_Flexion", "FT_Extension2")[:count]
    return bout(with_module(leg(STICK, 3.0), "FTi", actions=(4, 5, 6)[:count], action_names=names), colors=False)
