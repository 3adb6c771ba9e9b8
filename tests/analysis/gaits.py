"""More legs on paper: stick insect legs, held joints, legs that change what they do, and legs that stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nuc_engine.analysis.tracks import LegTracks
from tests.analysis.synthetic import EXT, FWD, ITB, ITF, STICK, Gait, leg, with_module

BACKWARD = replace(ITB, stride_cm=(6.0, -0.5), swing_share=0.55)
SIDEWAYS = Gait(period_s=1.4, swing_share=0.5, stride_cm=(0.3, -6.0), fti_deg=35.0, ctr_deg=-20.0, side=-1.0)
NOISY = {"noise_deg": 0.5, "noise_cm": 0.02, "jitter": 0.05}

STICK_NAMES = {
    "ThC": ("TC_retraction", "TC_protraction"),
    "CTr": ("CTr_Depression", "CTr_Levation"),
    "FTi": ("FT_Flexion", "FT_Extension"),
}


def stick_leg(gait: Gait = STICK, duration_s: float = 20.0, contact: bool = True) -> LegTracks:
    """The same with a stick insect leg's action names: it retracts and flexes in stance."""
    tracks = leg(gait, duration_s, contact)
    for role, names in STICK_NAMES.items():
        tracks = with_module(tracks, role, action_names=names)
    return tracks


def restricted_leg(gait: Gait = SIDEWAYS, duration_s: float = 20.0, contact: bool = True) -> LegTracks:
    """A stick insect leg whose thorax-coxa joint has no actions; FTi flexion is its stance action."""
    tracks = stick_leg(gait, duration_s, contact)
    return replace(tracks, modules=tracks.modules[1:], stance_action=EXT)


PAPER_LEGS = {
    "FWD": lambda **noise: leg(replace(FWD, **noise)),
    "ITF": lambda **noise: leg(replace(ITF, **noise)),
    "ITB": lambda **noise: leg(replace(ITB, **noise)),
    "stick": lambda **noise: stick_leg(replace(STICK, **noise)),
    "sideways": lambda **noise: restricted_leg(replace(SIDEWAYS, **noise)),
    "backward": lambda **noise: leg(replace(BACKWARD, **noise)),
}


def frozen_after(tracks: LegTracks, stop_s: float) -> LegTracks:
    """The same leg, standing still from `stop_s` on."""

    def hold(t: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x[np.minimum(np.arange(len(t)), np.searchsorted(t, stop_s))]

    modules = tuple(
        replace(m, action=hold(tracks.t_state_s, m.action), angle_deg=hold(tracks.t_sensor_s, m.angle_deg))
        for m in tracks.modules
    )
    force = None if tracks.contact_n is None else hold(tracks.t_foot_s, tracks.contact_n)
    return replace(tracks, modules=modules, foot_cm=hold(tracks.t_foot_s, tracks.foot_cm), contact_n=force)


def dragging(tracks: LegTracks) -> LegTracks:
    """The same leg, its foot always on the ground."""
    return replace(tracks, contact_n=np.full(len(tracks.t_foot_s), 0.8))


def flying(tracks: LegTracks) -> LegTracks:
    """The same leg without ground under it."""
    return replace(tracks, contact_n=np.zeros(len(tracks.t_foot_s)))


def joined(first: LegTracks, second: LegTracks) -> LegTracks:
    """One leg that does the one and then the other."""
    times = {
        name: _after(getattr(first, name), getattr(second, name)) for name in ("t_state_s", "t_sensor_s", "t_foot_s")
    }
    modules = tuple(
        replace(a, action=_join(a.action, b.action), angle_deg=_join(a.angle_deg, b.angle_deg))
        for a, b in zip(first.modules, second.modules, strict=True)
    )
    assert first.contact_n is not None
    assert second.contact_n is not None
    return replace(
        first,
        **times,
        modules=modules,
        foot_cm=_join(first.foot_cm, second.foot_cm),
        contact_n=_join(first.contact_n, second.contact_n),
    )


def _join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate((a, b[1:]))


def _after(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.concatenate((a, a[-1] + b[1:]))
