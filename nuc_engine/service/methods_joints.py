"""Methods around joints: what drives them, tweak torques, poses; and what is sensed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nuc_engine.control.controls import SENSE, refusal, subject
from nuc_engine.daemon.modes import Input
from nuc_engine.daemon.wire import CoreCommand
from nuc_engine.messages import requests
from nuc_engine.messages.answers import Acknowledgement, ParkAnswer, PoseAnswer
from nuc_engine.messages.errors import Refused
from nuc_engine.model.changes import JointControl
from nuc_engine.service.clients import ConnectedClient
from nuc_engine.service.core_link import AT_ONCE, ChangeParts
from nuc_engine.service.folders import check_name
from nuc_engine.service.hub import Hub
from nuc_engine.service.method import Handlers
from nuc_engine.service.methods_values import outcome

_PARK_DEG_S = 20.0


async def joint_mode(hub: Hub, client: ConnectedClient, asked: requests.JointModeRequest) -> Acknowledgement:
    """Choose what drives a joint."""
    return await _control(hub, client, [JointControl("mode", hub.need_joint(asked.joint), asked.mode)])


async def tweak(hub: Hub, client: ConnectedClient, asked: requests.TweakRequest) -> Acknowledgement:
    """Add a torque to a joint."""
    return await _control(hub, client, [JointControl("tweak", hub.need_joint(asked.joint), asked.ticks)])


async def sense(hub: Hub, client: ConnectedClient, asked: requests.SenseRequest) -> Acknowledgement:
    """Say what is sensed of a sensor."""
    value = asked.value if isinstance(asked.value, str) else float(asked.value)
    return await _control(hub, client, [JointControl(SENSE, hub.need_hdso(asked.sensor).index, value)])


async def pose(hub: Hub, client: ConnectedClient, asked: requests.PoseRequest) -> Acknowledgement:
    """Move joints to angles, slowly."""
    hub.require_mode_for(Input.POSE)
    angles = await _angles(hub, asked.angles, asked.name)
    joints = {hub.need_joint(name): angle for name, angle in angles.items()}
    rate = asked.rate_deg_s
    controls = [JointControl("rate", joint, rate) for joint in joints] if rate is not None else []
    controls += [JointControl("target", joint, float(angle)) for joint, angle in joints.items()]
    return await _control(hub, client, controls, asked.merge)


async def park(hub: Hub, _client: ConnectedClient, asked: requests.ParkRequest) -> ParkAnswer:
    """Choose the pose that a stop with the policy `park` moves to."""
    angles = await _angles(hub, asked.angles, asked.name)
    rate_deg_s = _PARK_DEG_S if asked.rate_deg_s is None else asked.rate_deg_s
    chosen = ({hub.need_joint(name): float(angle) for name, angle in angles.items()}, rate_deg_s)
    _, ack = hub.core.send(CoreCommand.PARK, *chosen)
    await ack
    hub.park = chosen
    return ParkAnswer(dict(angles), rate_deg_s)


async def _angles(hub: Hub, angles: Mapping[str, float] | None, name: str | None) -> Mapping[str, float]:
    if (angles is None) == (name is None):
        raise Refused("bad_request", "a pose needs either angles or a name")
    if angles is not None:
        return angles
    known = (await hub.workshop.do(hub.folders.read_poses)).get(hub.need_plan().name, {})
    if name not in known:
        raise Refused("not_found", f"there is no pose {name!r}", f"there are: {', '.join(known) or 'none'}")
    return known[str(name)]


async def pose_save(hub: Hub, _client: ConnectedClient, asked: requests.PoseSaveRequest) -> PoseAnswer:
    """Save the pose the leg is in."""
    name = check_name(asked.name)
    mirror, moment = hub.need_mirror(), hub.moment()
    angles: dict[str, float] = {}
    for motor in mirror.plan.motors:
        joint = mirror.plan.joints[motor.joint].name
        values = moment.values(motor.angle)
        if values is None:
            raise Refused("refused", f"the angle of {joint} has not been measured", "check the servo's power and cable")
        angles[joint] = round(float(values[0]), 3)

    def work() -> Path:
        poses = hub.folders.read_poses()
        poses.setdefault(mirror.plan.name, {})[name] = angles
        return hub.folders.write_poses(poses)

    path = await hub.workshop.do(work)
    return PoseAnswer(name, angles, str(path))


async def poses(hub: Hub, client: ConnectedClient, _asked: requests.PosesRequest) -> Mapping[str, Mapping[str, float]]:
    """Give the poses saved for the configuration in force."""
    return (await hub.workshop.do_for(client.key, hub.folders.read_poses)).get(hub.need_plan().name, {})


async def _control(
    hub: Hub, client: ConnectedClient, controls: Sequence[JointControl], merge: int = 0
) -> Acknowledgement:
    plan = hub.need_plan()
    if reasons := [reason for control in controls if (reason := refusal(control, plan))]:
        raise Refused("refused", "; ".join(reasons))
    names = [subject(control, plan)[1] for control in controls]
    edit = hub.core.edit(client.author, AT_ONCE, names, ChangeParts(controls=tuple(controls)))
    if merge:
        hub.need_book().merge(edit.request, merge)
    await edit.ack
    return await outcome(hub, [edit])


HANDLERS: Handlers = {
    requests.JointModeRequest: joint_mode,
    requests.TweakRequest: tweak,
    requests.SenseRequest: sense,
    requests.PoseRequest: pose,
    requests.ParkRequest: park,
    requests.PoseSaveRequest: pose_save,
    requests.PosesRequest: poses,
}
"""What does the requests of this part."""
