"""A bout of the cockroach with everything in it that SCCILS 0.2 adds to acting."""

from __future__ import annotations

from typing import Any

from tests.engine.acting import case, hdso, rule
from tests.verify.variants import Case

_AFTER = r'(?s)(<transition_rule (?:(?!</transition_rule>).)*idNum="{}"[^>]*/>.*?</transition_rule>)'
CENTRAL = (
    (_AFTER.format(161), r'\1<central rule="TC1_lower" hold="keep"/>'),
    (_AFTER.format(163), r'\1<central rule="CTr_waited"/>'),
    (_AFTER.format(164), r'\1<central rule="CTr_waited" hold="keep"/>'),
    (_AFTER.format(165), r'\1<central rule="FT_bend"/>'),
    (_AFTER.format(166), r'\1<central rule="FT_bend"/>'),
)
_STATE = (
    '<state name="{}" idNum="{}"><action>{}</action><transition_rule representation_type="HDSO">'
    '<hdsoMod idNum="{}" NumElts="0"/></transition_rule></state>'
)
_THRESHOLD = '<hdsoMod idNum="107" NumElts="1">{}</hdsoMod>'
_RULE = '<hdsoMod idNum="165" NumElts="{}" datatype="char">{}</hdsoMod>'
_WANT = '<hdsoMod idNum="253" NumElts="1" datatype="double">{}</hdsoMod>'
UPPER = (
    '<module name="Behaviour" idNum="1" start_state_idNum="801">'
    + _STATE.format("Walk", 801, _THRESHOLD.format(90) + _RULE.format(23, "(302 &gt; 106)&amp;(307 &gt; 107)"), 250)
    + _STATE.format("Turn", 802, _THRESHOLD.format(70) + _RULE.format(14, "307@0.05 &lt; 107"), 251)
    + '</module><module name="Above" idNum="2" start_state_idNum="803">'
    + _STATE.format("Calm", 803, _WANT.format(0), 254)
    + _STATE.format("Upset", 804, _WANT.format(1), 255)
    + "</module>"
)
HDSOS = (
    hdso(230, "tau_rise", 0.03),
    hdso(231, "tau_fall", 0.06),
    hdso(234, "drive", 0.4),
    hdso(235, "tau", 0.6),
    hdso(236, "keep", 90_000_000, "llint"),
    hdso(237, "patience", 0.31),
    hdso(238, "exponent", 1.5, "float"),
    hdso(239, "slow", 0.6),
    rule(240, "TC1_lower", "CTr_lev &amp; (CTr_linear &lt; drive)"),
    rule(241, "CTr_waited", "CTr_time &gt; patience"),
    rule(242, "FT_bend", "(paced &lt; slow) | (FT_power@0.03 &lt; slow)"),
    rule(250, "Enter_Walk", "wants &lt; half"),
    rule(251, "Enter_Turn", "wants &gt; half"),
    hdso(252, "half", 0.5),
    hdso(253, "wants", 0),
    rule(254, "Enter_Calm", "CTr_rate &lt; quick"),
    rule(255, "Enter_Upset", "CTr_rate &gt; quick"),
    hdso(256, "quick", 1.2),
    '<control idNum="257" name="speed" range="0 1" initial="0.5"><map hdso="126">0 0.45 0.4 0.5 1 0.85</map>'
    '<map hdso="patience">0 0.45 1 0.2</map><map hdso="keep">0 0 1 100000001</map></control>',
    '<control idNum="258" name="idle" range="-2 2"><map hdso="127">-2 0 2 1</map></control>',
)
SIGNALS = (
    '<signal idNum="340" name="paced" type="decay" of="Femur-Tibia" inputs="CTr_rate" parameters="tau"/>',
    '<signal idNum="341" name="CTr_lev" type="state" of="CTr_LevationPRO"/>',
    '<signal idNum="342" name="CTr_linear" type="decay" of="Coxa-Trochanter" parameters="tau" datatype="float"/>',
    '<signal idNum="343" name="TC1_left" type="decay" shape="exponential" of="Thorax-Coxa1" parameters="tau"/>',
    '<signal idNum="344" name="FT_power" type="decay" shape="power" of="Femur-Tibia" parameters="tau exponent"/>',
    '<signal idNum="345" name="CTr_time" type="time_in_action" of="Coxa-Trochanter" units="s"/>',
    '<signal idNum="346" name="CTr_rate" type="switching" of="Coxa-Trochanter" parameters="tau"/>',
    '<signal idNum="347" name="CTr_sensory" type="switching" counted="sensory" of="Coxa-Trochanter" parameters="tau"/>',
    '<signal idNum="348" name="doing" type="action" of="Behaviour"/>',
    '<signal idNum="349" name="turning" type="state" of="Turn"/>',
    '<signal idNum="350" name="smooth" type="lowpass" inputs="CTr_time" parameters="tau_rise"/>',
)
DYNAMICS = (r"</muscle>", '<activation_dynamics rise="tau_rise" fall="tau_fall"/></muscle>')
EDITS = (
    '<hdsoMod idNum="257" NumElts="1" datatype="double" time="0.7">0.93</hdsoMod>'
    '<hdsoMod idNum="258" NumElts="1" datatype="double" time="0.9">0.31</hdsoMod>'
    '<hdsoMod idNum="235" NumElts="1" datatype="double" time="1.1">0.4</hdsoMod>'
    '<hdsoMod idNum="235" NumElts="1" datatype="double" time="1.6">0</hdsoMod>'
    '<hdsoMod idNum="235" NumElts="1" datatype="double" time="1.8">0.5</hdsoMod>'
    '<sense time="0.5" sensor="CTr_time" mode="hold"/><sense time="1.2" sensor="turning" mode="value" value="0.5"/>'
    '<sense time="1.3" sensor="CTr_time" mode="off"/><sense time="2.2" sensor="turning" mode="off"/>'
)


def everything(**more: Any) -> Case:
    """Return a bout with central entries, couplings, dynamics, controls and two modules, one above the other."""
    known: dict[str, Any] = {"script": EDITS, "seconds": 3.0} | more
    return case(*CENTRAL, DYNAMICS, (r"(?=</jointlist>)", UPPER), hdsos=HDSOS, signals=SIGNALS, **known)
