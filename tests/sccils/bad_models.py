"""Ways to spoil the small configuration: the edits, where the problem must be reported, and words it must hold."""

from __future__ import annotations

from dataclasses import dataclass

J, P, S = "joints.xml", "parameters.xml", "sensors.xml"


@dataclass(frozen=True)
class Bad:
    """Edits (file, old, new); the file and a text on the line to be named; words of the message."""

    edits: tuple[tuple[str, str, str], ...]
    file: str
    marker: str
    words: tuple[str, ...]


def bad(file: str, old: str, new: str, marker: str, *words: str, also: tuple[tuple[str, str, str], ...] = ()) -> Bad:
    return Bad(((file, old, new), *also), file, marker, words)


def elsewhere(file: str, marker: str, *words: str, edits: tuple[tuple[str, str, str], ...]) -> Bad:
    """Return a case whose problem shows in another file than the first edit's, or after several edits."""
    return Bad(edits, file, marker, words)


def spec(*ids: int) -> str:
    mods = "".join(f'<hdsoMod idNum="{number}" NumElts="0"/>' for number in ids)
    return f"<sensorspec>{mods}</sensorspec>"


def sensors_by(coxa: str, femur: str, *words: str) -> Bad:
    """Return a case of sensorspecs in both motors, of which the second is wrong."""
    motor = 'angleCal2="1.529"/>'
    edits = ((J, motor, f"{motor[:-2]}>{coxa}</aimotor>"), (J, "<forceCommand>", f"{femur}\n<forceCommand>"))
    return elsewhere(J, femur, *words, edits=edits)


REF_190 = '<hdsoMod idNum="190" NumElts="0"/>'
FL = '<hdsoMod idNum="171" NumElts="2">2 -1.5</hdsoMod>'
PARABOLIC = '<hdsoMod idNum="172" NumElts="3">-0.5 1 1</hdsoMod>'
RULE = 'boolstring="(302 &lt; 101)|(303 &gt; 102)"'
RULE_2 = 'boolstring="Coxa_current > ret_load"'
HOLDER = '<hdsoMod idNum="161" NumElts="0"/>'
LINEAR = '<hdsoMod idNum="141" NumElts="5">0 0.8 0.01 61 100</hdsoMod>'
LINEAR_AT = 'activation_function="linear"'
LISTS = 'activation_sensors="301" activation_parameters="141"'
DWELL = '<hdsoMod idNum="194" NumElts="0"/>'
DH_2 = 'idNum="182" NumElts="4">9.7 0 0 0.017453292519943'
DH_LINE_2 = """      <DHline>
        <hdsoMod idNum="182" NumElts="4">9.7 0 0 0.017453292519943</hdsoMod>
      </DHline>
"""
COMMAND = """      <positionCommand>
        <hdsoMod idNum="204" NumElts="1">128</hdsoMod>
      </positionCommand>
"""
JOINT_2 = '<joint name="Femur" idNum="2" parent="1" control_mode="position">'
DIM_141 = 'name="pro_promotor_activation" numdims="1">\n    <dimsize dimNr="1">'

IDS_AND_NAMES = {
    "unknown id": bad(J, REF_190, REF_190.replace("190", "999"), 'idNum="999"', "HDSO 999 is not declared", "0-2, 20"),
    "unknown id, known name": bad(
        J, REF_190, '<hdsoMod idNum="999" name="zero_const" NumElts="0"/>', 'idNum="999"', "'zero_const' is HDSO 190"
    ),
    "unknown name": bad(J, 'name="ret_load"', 'name="ret_lod"', 'name="ret_lod"', "did you mean 'ret_load'?"),
    "by name, no name": bad(J, 'idByName="y" name="ret_load"', 'idByName="y"', 'idByName="y"', "without a name"),
    "special id": bad(J, REF_190, REF_190.replace("190", "-1"), 'idNum="-1"', "-1", "cannot be used here"),
    "HDSO id twice": bad(P, 'idNum="102"', 'idNum="101"', "pro_angle", "id 101 is used twice", "first in"),
    "HDSO id in both lists": bad(S, 'idNum="304"', 'idNum="101"', "Femur_current", "101 is used twice", "parameters"),
    "HDSO name twice": bad(P, "pro_angle", "pro_load", 'idNum="102"', "'pro_load' is used twice", "first in"),
    "negative HDSO id": bad(P, 'idNum="102"', 'idNum="-1"', 'idNum="-1"', "idNum -1", "0 or more"),
    "muscle id twice": bad(J, 'idNum="402"', 'idNum="401"', 'name="Remotor"', "muscle id 401", "first in line 7"),
    "state id twice": bad(J, 'idNum="202"', 'idNum="201"', 'name="Retraction"', "state id 201 is used twice"),
    "joint id twice": bad(J, '"Femur" idNum="2"', '"Femur" idNum="1"', 'name="Femur"', "joint id 1 is used twice"),
    "motor id twice": bad(J, 'idNum="602"', 'idNum="601"', "Femur_motor", "motor id 601 is used twice"),
    "organ id negative": bad(J, 'idNum="501"', 'idNum="-5"', "Coxa_CS", "idNum -5", "0 or more"),
    "element name twice": bad(
        J, '"Remotor"', '"Protraction"', '"Protraction" idNum="201"', "used twice", "a muscle in"
    ),
    "joint id zero": bad(J, 'name="Coxa" idNum="1"', 'name="Coxa" idNum="0"', 'name="Coxa"', "idNum 0", "1 or more"),
    "bad list": bad(J, 'parameters="121"', 'parameters="121;122"', "121;122", "'121;122'", "an HDSO id or name"),
    "unknown in a list": bad(J, 'parameters="121"', 'parameters="125"', '"125"', "HDSO 125 is not declared"),
    "unknown name in a list": bad(J, '"Coxa_angle, ', '"Coxa_angel, ', "Coxa_angel", "did you mean 'Coxa_angle'?"),
}
KINDS = {
    "rule in a parameter": bad(J, 'idNum="161"', 'idNum="104"', 'idNum="104"', "(gap) is a parameter", "a boolstring"),
    "sensor in a function": bad(J, REF_190, REF_190.replace("190", "304"), 'idNum="304"', "is a sensor", "parameter"),
    "rule in a function": bad(J, REF_190, REF_190.replace("190", "163"), 'idNum="163"', "is a boolstring"),
    "parameter for a sensor": bad(
        J, '"301" activ', '"101" activ', '"101" activ', "is a parameter", "expected a sensor"
    ),
    "parameter in an organ": bad(J, 'idNum="302"', 'idNum="104"', 'idNum="104"', "sense organ Coxa_CS", "a sensor"),
    "constant is written": bad(
        J, REF_190, '<hdsoMod idNum="190" NumElts="1">0</hdsoMod>', ">0</", "190", "is a constant", "NumElts='0'"
    ),
    "sensor for a command": bad(J, 'idNum="203"', 'idNum="304"', 'idNum="304"', "is a sensor", "forceCommand"),
    "unknown abstractType": bad(P, '"constant"', '"konstant"', "konstant", "did you mean 'constant'?"),
    "swapped lists": bad(P, "parameterList", "sensorList", "DataSetType", "DataSetType='sensorList'", "swapped"),
    "two motors, one command": bad(
        J,
        'angleCal2="1.529"/>',
        'angleCal2="1.529">\n<forceCommand><hdsoMod idNum="203" NumElts="0"/></forceCommand></aimotor>',
        'idNum="203" NumElts="0"/>\n',
        "HDSO 203",
        "commands Coxa_motor and Femur_motor",
    ),
}
COUNTS_AND_TYPES = {
    "too few values": bad(J, FL, FL.replace("2 -1.5", "2"), ">2<", "1 value ", "NumElts='2'", "expected 2 values"),
    "too many values": bad(J, FL, FL.replace("2 -1.5", "2 -1.5 1"), "2 -1.5 1", "3 values", "NumElts='2'"),
    "more than it holds": bad(J, FL, FL.replace('"2">2', '"3">7 2'), ">7 2", "3 values for HDSO 171", "at most 2"),
    "data in a reference": bad(J, REF_190, REF_190.replace("/>", ">5</hdsoMod>"), ">5<", "data '5'", "NumElts='0'"),
    "not a number": bad(J, FL, FL.replace("2 -1.5", "2 x"), "2 x", "'x' is not of type float", "a finite number"),
    "hexadecimal": bad(J, FL, FL.replace("2 -1.5", "2 0x10"), "2 0x10", "'0x10' is not of type float"),
    "underscore": bad(J, FL, FL.replace("2 -1.5", "2 1_0"), "2 1_0", "'1_0' is not of type float"),
    "empty number": bad(J, FL, FL.replace("2 -1.5", "2,,1"), "2,,1", "before or after a comma"),
    "nan": bad(J, FL, FL.replace("2 -1.5", "2 nan"), "2 nan", "'nan' is not of type float", "finite"),
    "infinite": bad(J, FL, FL.replace("2 -1.5", "2 1e39"), "1e39", "1e39 does not fit type float", "3.402823e+38"),
    "fraction": bad(P, "<initial_data>3<", "<initial_data>3.5<", ">3.5<", "'3.5' is not of type int", "whole number"),
    "integer too large": bad(P, ">25000000<", f">{2**63}<", f"{2**63}", f"{2**63} does not fit type llint"),
    "float too fine": bad(
        J, FL, FL.replace("2 -1.5", "2 9007199254740993"), "9007199254740993", "exactly by a float", "use llint"
    ),
    "uchar too large": bad(P, "0 128 255", "0 128 256", "0 128 256", "256 does not fit type uchar", "0 to 255"),
    "integer HDSO, fraction": bad(
        J, 'idNum="121" NumElts="1">0.05', 'idNum="195" NumElts="1">0.5', 'idNum="195"', "0.5", "type llint", "whole"
    ),
    "integer HDSO, float not exact": bad(
        J, 'idNum="121" NumElts="1">0.05', 'idNum="195" NumElts="1">16777217', 'idNum="195"', "16777217", "llint"
    ),
    "float HDSO, integer not exact": bad(
        J,
        'idNum="121" NumElts="1">0.05',
        'idNum="104" NumElts="1" datatype="int">16777217',
        'idNum="104"',
        "16777217",
        "type float holds exactly",
    ),
    "initial_data count": bad(P, "0 128 255", "0 128", "0 128<", "initial_data has 2 values", "expected 3"),
    "dimension missing": bad(P, '"label" numdims="1"', '"label" numdims="2"', '"label"', "from 1 to 2", "given for 1"),
    "dimension zero": bad(
        P, '<dimsize dimNr="1">8<', '<dimsize dimNr="1">0<', '"1">0<', "a dimension of size 0", "1 or more"
    ),
    "dimension not whole": bad(P, 'dimNr="1">8<', 'dimNr="1">8.5<', "8.5", "<dimsize> holds '8.5'", "whole number"),
    "dimNr from zero": bad(P, 'dimNr="1">8<', 'dimNr="0">8<', '"label"', "given for 0", "from 1 to 1"),
    "no dimensions": bad(P, '"label" numdims="1"', '"label" numdims="0"', '"label"', "numdims='0'", "1 to 8"),
    "text too long": bad(P, ">abc<", ">abcdefghi<", ">abcdefghi<", "9 bytes", "at most 8"),
    "text for numbers": bad(P, '"gap" numdims="1"', '"gap" numdims="1" xmltype="char"', '"gap"', "xmltype='char'"),
    "text sent to numbers": bad(
        J,
        FL,
        FL.replace('NumElts="2">2 -1.5', 'NumElts="2" datatype="char">ab'),
        ">ab<",
        "text for HDSO 171",
        "numbers",
    ),
    "characters miscounted": bad(
        J,
        FL,
        FL.replace('NumElts="2">2 -1.5', 'NumElts="2" datatype="char">abc'),
        ">abc<",
        "3 characters",
        "NumElts='2'",
    ),
    "rule HDSO, shape": bad(P, 'dimNr="1">2<', 'dimNr="1">3<', "Enter_Protraction", "size 3 x 30", "2 x n"),
    "rule HDSO, type": bad(P, '"boolstring" datatype="int"', '"boolstring"', "Enter_Protraction", "float", "'int'"),
    "rule as numbers": bad(
        J, HOLDER, HOLDER.replace('"0"/>', '"2">1 2</hdsoMod>'), ">1 2<", "written as numbers", "char"
    ),
}
RANGES = {
    "above valid": bad(J, 'NumElts="1">0.05', 'NumElts="1">2.5', ">2.5<", "2.5", "HDSO 121", "0 to 2, its valid range"),
    "below valid": bad(J, 'NumElts="1">0.05', 'NumElts="1">-0.001', ">-0.001<", "-0.001", "0 to 2"),
    "text outside": bad(
        P,
        "<initial_data>abc<",
        '<range type="valid"><bound type="upper">98</bound></range><initial_data>abc<',
        ">abc<",
        "99 is no value",
        "at most 98",
    ),
    "negative character": bad(
        P, ">0 128 255<", ">-1 128 255<", "-1 128", "-1", "0 to 255", also=((P, "uchar", "char"),)
    ),
    "initial_data outside": bad(P, "<initial_data>3<", "<initial_data>5<", ">5<", "5 is no value", "0 to 4"),
    "inside invalid": bad(J, '101" NumElts="1">-0.5', '104" NumElts="1">0.5', 'idNum="104"', "0.5", "outside -1 to 1"),
    "at the edge of invalid": bad(J, '101" NumElts="1">-0.5', '104" NumElts="1">1', '"104"', "1", "outside -1 to 1"),
    "bounds crossed": bad(P, 'upper">4<', 'upper">-4<', 'lower">0<', "lower bound 0 is above upper bound -4"),
    "two upper bounds": bad(P, 'type="lower">0<', 'type="upper">0<', 'type="upper">0<', "a second upper bound"),
    "infinite bound": bad(P, 'type="upper">4<', 'type="upper">1e999<', "1e999", "too large", "a finite number"),
    "bound no number": bad(P, 'type="upper">4<', 'type="upper">four<', "four", "<bound> holds 'four'", "finite number"),
    "two valid ranges": bad(
        P,
        'type="suggested"',
        'type="valid" ',
        'type="valid">\n      <bound type="upper">20',
        "second range of type valid",
    ),
}
MUSCLE_IN_FEMUR = (
    J,
    JOINT_2,
    JOINT_2
    + '<muscle name="M" idNum="409" Lnaught="1" r="1" alpha="0" fmax="1">'
    + "".join(
        f'<function_spec type="constant" use="{use}">{REF_190}</function_spec>'
        for use in ("passive_stiffness", "force-length", "force-velocity")
    )
    + "</muscle>",
)
RULES = {
    "grammar": bad(J, RULE, 'boolstring="302 &lt; "', "302 &lt; ", "rule '302 <', column 5", "ends after '<'"),
    "equality": bad(J, RULE, 'boolstring="302 &lt;= 101"', "302 &lt;=", "'<=' is not an operator", "no <="),
    "a number": bad(J, RULE, 'boolstring="302 &lt; 0.5"', "&lt; 0.5", "neither an id nor a name", "parameter HDSO"),
    "unknown id": bad(J, RULE, 'boolstring="302 &lt; 5"', "302 &lt; 5", "HDSO 5 is not declared"),
    "unknown name": bad(J, RULE, 'boolstring="Coxa_curent"', "Coxa_curent", "did you mean 'Coxa_current'?"),
    "vector": bad(J, RULE, 'boolstring="302 &lt; 171"', "302 &lt; 171", "HDSO 171", "2 elements", "single value"),
    "too long": bad(J, RULE, f'boolstring="{"&amp;".join(["302"] * 16)}"', "302&amp;302", "31 tokens", "at most 30"),
    "compares a rule": bad(J, RULE, 'boolstring="162 &lt; 101"', "162 &lt; 101", "162", "is a rule", "a comparison"),
    "uses itself": bad(J, RULE, 'boolstring="161"', 'boolstring="161"', "circle", "(Enter_Protraction) uses HDSO 161"),
    "use each other": bad(
        J,
        RULE,
        'boolstring="162"',
        'boolstring="162"',
        "circle",
        "161",
        "uses HDSO 162",
        also=((J, RULE_2, 'boolstring="161"'),),
    ),
    "empty": bad(J, RULE, 'boolstring=""', 'boolstring=""', "the rule is empty"),
    "no text": bad(J, " " + RULE, "", "<transition_rule>", "Protraction has no boolstring"),
    "no HDSO": bad(J, HOLDER, "", '"101" NumElts="1">-0.5', "HDSO 101", "is to hold the rule", "a boolstring"),
    "one HDSO for two": bad(J, 'idNum="162"', 'idNum="161"', RULE_2, "(Enter_Protraction) holds two rules"),
    "given twice": bad(J, RULE, RULE + ' representation_type="HDSO"', RULE, "given twice"),
    "given twice as text": bad(
        J,
        HOLDER,
        '<hdsoMod idNum="161" NumElts="3" datatype="char">191</hdsoMod>',
        ">191<",
        "given twice",
        "NumElts='0'",
    ),
    "HDSO without text": bad(J, RULE, 'representation_type="HDSO"', 'representation_type="HDSO"', "has no text"),
    "initial_data": bad(
        P,
        '<dimsize dimNr="2">30</dimsize>',
        '<dimsize dimNr="2">30</dimsize><initial_data>302 ></initial_data>',
        "302 ><",
        "column 5",
        "ends after",
    ),
}
CHAIN = {
    "unknown parent": bad(J, '"2" parent="1"', '"2" parent="7"', 'parent="7"', "parent='7'", "joints are 1-3"),
    "circle of parents": bad(J, '"1" parent="0"', '"1" parent="2"', '"1" parent="2"', "its own ancestor: 1 -> 2 -> 1"),
    "own parent": bad(J, '"1" parent="0"', '"1" parent="1"', '"1" parent="1"', "its own ancestor: 1 -> 1"),
    "unknown start state": bad(
        J, '"0" start_state_idNum="201"', '"0" start_state_idNum="299"', "299", "no state", "201-202"
    ),
    "no start state": bad(J, ' start_state_idNum="201"', "", 'name="Coxa"', "no start_state_idNum", "201-202"),
    "start state of another": elsewhere(
        J,
        'name="Femur"',
        "is a state of joint 1",
        edits=(MUSCLE_IN_FEMUR, (J, 'control_mode="position"', 'start_state_idNum="201"')),
    ),
    "muscles, no state": elsewhere(
        J, 'name="Femur"', "has muscles but no state", edits=(MUSCLE_IN_FEMUR, (J, 'control_mode="position"', ""))
    ),
    "endpoint with a motor": bad(
        J,
        "<geometry/>",
        '<geometry/><aimotor name="x" idNum="9" serialID="9" dir="1" angleCal1="0" angleCal2="1"/>',
        'name="Foot"',
        "is an endpoint and has control",
    ),
}
MOTORS = {
    "force without a sign": elsewhere(
        J,
        'idNum="203"',
        "uchar",
        "forceCommand",
        "sign",
        edits=((P, 'Femur_force" numdims="1"', 'Femur_force" numdims="1" datatype="uchar"'),),
    ),
    "position as text": elsewhere(
        J,
        'idNum="204"',
        "char",
        "positionCommand",
        "numbers",
        edits=((P, 'Femur_position" numdims="1"', 'Femur_position" numdims="1" datatype="char"'),),
    ),
    "bus id twice": bad(J, 'serialID="1"', 'serialID="0"', "Femur_motor", "serialID 0", "used twice", "Coxa_motor"),
    "bus name": bad(J, 'serialID="1"', 'serialID="1" bus="a b"', "Femur_motor", "bus 'a b'", "letters, digits"),
    "bus id out of range": bad(J, 'serialID="1"', 'serialID="31"', "Femur_motor", "serialID 31", "0 to 30"),
    "zero slope": bad(J, 'angleCal2="1.529"', 'angleCal2="0"', "Coxa_motor", "angleCal2", "is 0", "slope"),
    "slope no number": bad(J, 'angleCal2="1.529"', 'angleCal2="inf"', "Coxa_motor", "angleCal2='inf'", "finite number"),
    "slope too large": bad(
        J, 'angleCal2="1.529"', 'angleCal2="1e999"', "Coxa_motor", "angleCal2 1e999", "finite number"
    ),
    "dir": bad(J, 'dir="1"', 'dir="2"', "Coxa_motor", "dir='2'", "one of 1, -1"),
    "too few sensors": bad(
        S,
        '  <hdso idNum="304"',
        '<!--  <hdso idNum="304"',
        "<?xml",
        "3 sensors for 2 motors",
        "at least 4",
        also=((S, "</hdsolist>", "--></hdsolist>"),),
    ),
    "sensor of another type": bad(
        S, '"Femur_angle"', '"Femur_angle" datatype="int"', "Femur_angle", "int", "its angle"
    ),
    "sensorspec of nothing": bad(
        J, "<forceCommand>", "<sensorspec/><forceCommand>", "<sensorspec/>", "names 0 sensors", "its angle, then its"
    ),
    "one sensorspec": bad(  # of two motors
        J,
        "<forceCommand>",
        spec(303, 304) + "<forceCommand>",
        "Coxa_motor",
        "no sensorspec, others have",
        "or for none",
    ),
    "sensorspec of a parameter": sensors_by(spec(301, 302), spec(303, 104), "HDSO 104", "stands where Femur_motor"),
    "one sensor for two": sensors_by(spec(301, 302), spec(303, 302), "HDSO 302", "belongs to Coxa_motor"),
    "no motor": bad(
        J,
        '<aimotor name="Coxa_motor" idNum="601" serialID="0" dir="1" angleCal1="144" angleCal2="1.529"/>',
        "",
        'name="Coxa"',
        "nothing to move it",
        "an aimotor",
    ),
    "no position command": bad(J, COMMAND, "", "Femur_motor", "position mode", "no positionCommand"),
}
MUSCLES = {
    "resting length": bad(J, 'Lnaught="20" r="10"', 'Lnaught="0" r="10"', '"Promotor"', "Lnaught='0'", "more than 0"),
    "use missing": bad(
        J, 'use="force-velocity">', 'use="force-length" >', '"Promotor"', "no function for force-velocity"
    ),
    "use twice": bad(
        J, 'use="force-velocity">', 'use="force-length" >', 'length" >', "second function for force-length"
    ),
    "unknown use": bad(
        J, 'use="force-velocity"', 'use="force"', 'use="force"', "use='force'", "one of passive_stiffness"
    ),
    "no use": bad(J, ' use="force-velocity">', " >", 'type="constant" >', "without a use", "one of passive_stiffness"),
    "constant with two": bad(
        J, REF_190, REF_190.replace("190", "171"), '="passive_stiffness"', "constant", "2 parameters"
    ),
    "linear with three": bad(
        J, FL, '<hdsoMod idNum="172" NumElts="0"/>', 'type="linear"', "has 3 parameters", "expected 2"
    ),
    "parabolic with two": bad(J, PARABOLIC, FL, 'type="parabolic"', "has 2 parameters", "expected 3"),
    "hyperbolic with two": bad(
        J, 'type="linear"', 'type="hyperbolic"', 'type="hyperbolic"', "2 parameters", "expected 3"
    ),
    "other": bad(J, 'type="linear"', 'type="other"', 'type="other"', "of type 'other'", "constant, linear, parabolic"),
    "parabolic with zero": bad(J, PARABOLIC, PARABOLIC.replace("-0.5", "0"), ">0 1 1<", "of 0", "divides by it"),
    "no fmax": bad(J, ' fmax="15"', "", '"Promotor"', "<muscle> lacks the attribute fmax", "a finite number"),
}
ACTIVATIONS = {
    "unknown muscle": bad(J, 'muscle="402"', 'muscle="499"', 'muscle="499"', "muscle 499 is not declared", "401-402"),
    "muscle of another joint": bad(
        J,
        'muscle="402"',
        'muscle="409"',
        'muscle="409"',
        "belongs to joint 2 (Femur)",
        "a muscle of joint 1",
        also=(MUSCLE_IN_FEMUR,),
    ),
    "muscle twice": bad(
        J,
        'muscle="402"',
        'muscle="401" ',
        'muscle="401" ',
        "Protraction activates muscle 401 twice",
        also=((J, 'muscle="401" activation_function="linear"', "muscle='401' activation_function=\"linear\""),),
    ),
    "muscle left out": bad(J, 'muscle="402"', 'muscle="401"', 'name="Protraction"', "does not say", "402 (Remotor)"),
    "constant with two": bad(J, '"121"', '"121 122"', "121 122", "has 2 parameters", "expected 1"),
    "two sensors": bad(
        J, LISTS, LISTS.replace("301", "301 303"), "301 303", "has 2 sensors", "1 in activation_sensors"
    ),
    "no sensor": bad(J, LISTS, LISTS.split()[1], LINEAR_AT, "has 0 sensors", "1 in activation_sensors"),
    "sensor for a constant": bad(
        J,
        'activation_parameters="121"',
        'activation_sensors="301" activation_parameters="121"',
        'parameters="121"',
        "has 1 sensor,",
        "none",
    ),
    "four numbers": elsewhere(
        J,
        LISTS,
        "has 4 parameters",
        "expected 5",
        edits=((P, DIM_141 + "5", DIM_141 + "4"), (J, LINEAR, LINEAR.replace('"5">0 ', '"4">'))),
    ),
    "wmin is wmax": bad(J, LINEAR, LINEAR.replace("61 100", "61 61"), "61 61", "both 61", "divides"),
    "wmin is wmax in K3": bad(J, "-40 80", "80 80", "80 80", "both 80"),
    "lists disagree": bad(
        J, '<hdsoMod idNum="121" NumElts="1">0.05', '<hdsoMod idNum="122" NumElts="1">0.05', ">0.05<", "must agree"
    ),
    "lists in another order": bad(
        J,
        'activation_parameters="121">\n        <hdsoMod idNum="121" NumElts="1">0.05</hdsoMod>',
        'activation_parameters="121 122">\n        <hdsoMod idNum="122" NumElts="0"/>\n'
        '        <hdsoMod idNum="121" NumElts="0"/>',
        'idNum="121" NumElts="0"',
        "another order",
    ),
    "unknown function": bad(J, '"bilinear"', '"cubic"', '"cubic"', "'cubic'", "constant, linear, bilinear"),
    "dwell of another type": bad(J, DWELL, DWELL.replace("194", "104"), '"104"', "dwell time", "type float", "llint"),
    "negative dwell": bad(J, DWELL, '<hdsoMod idNum="195" NumElts="1">-5</hdsoMod>', ">-5<", "is -5 ns", "0 or more"),
}
GEOMETRY = {
    "stretched": bad(J, "0 0 -1 0", "0 0 -1.1 0", 'idNum="180"', "A-matrix", "length 1.1", "must be a rotation"),
    "skew": bad(
        J,
        "1 0 0 0\n",
        "1 0.6 0 0\n",
        'idNum="180"',
        "columns 1 and 2",
        "0.6",
        also=((J, "0 1 0 10.5", "0 0.8 0 10.5"),),
    ),
    "mirror": bad(J, "0 0 -1 0", "0 0 1 0", 'idNum="180"', "mirrors"),
    "last row": bad(J, "0 0 0 1\n", "0 0 1 1\n", "0 0 1 1\n", "last row", "0 0 0 1", "last column"),
    "HDSO too small": bad(J, '"180" NumElts', '"182" NumElts', '"182" NumElts="16"', "4 elements", "expected 16"),
    "DH line of three": bad(J, DH_2, 'idNum="189" NumElts="3">9.7 0 0', 'idNum="189"', "3 numbers", "expected 4"),
    "no numbers": bad(J, DH_2 + "</hdsoMod>", 'idNum="182" NumElts="0"/>', 'idNum="182"', "0 numbers", "expected 4"),
    "DH scale zero": bad(J, DH_2, DH_2.replace("0.017453292519943", "0"), 'idNum="182"', "by 0", "pi/180"),
    "undeclared by name": bad(
        J,
        DH_2,
        DH_2.replace('idNum="182"', 'idNum="182" idByName="y" name="Tibia_DH"'),
        "Tibia_DH",
        "'Tibia_DH' is not",
    ),
    "no geometry": bad(J, "<geometry/>", "", 'name="Foot"', "<joint> lacks an element", "<geometry>"),
}
REST = {
    "colour": bad(J, '"0 0.5 1"', '"0 0.5"', '"0 0.5"', "colorspec", "three numbers from 0 to 1"),
    "colour out of range": bad(J, '"0 0.5 1"', '"0 0.5 256"', "256", "colorspec", "out of range"),
    "global missing": bad(P, "motor_speed", "motor_sped", "<?xml", "'motor_speed' is missing", "did you mean"),
    "period zero": bad(P, ">25000000<", ">000<", ">000<", "0 is no value", "at least 100000"),
    "period too short": bad(P, ">25000000<", ">99999<", ">99999<", "99999 is no value", "at least 100000"),
    "global as text": bad(
        P,
        'motor_speed" numdims="1" datatype="int"',
        'motor_speed" numdims="1" datatype="uchar"',
        "motor_speed",
        "uchar",
    ),
    "stop time too small": bad(
        S, 'start_time" numdims="1" datatype="llint"', 'stop_time" numdims="1" datatype="int"', "stop_time", "llint"
    ),
    "start time a parameter": bad(
        S, 'llint" abstractType="sensor"', 'llint" abstractType="parameter"', "engine_start_time", "a sensor of type"
    ),
    "global of another type": bad(
        P, 'delay_ns" numdims="1" datatype="llint"', 'delay_ns" numdims="1"', "delay_ns", "float"
    ),
    "global without value": bad(
        P, "    <initial_data>25000000</initial_data>\n", "", "statetrans_p", "no value at the start"
    ),
    "constant without value": bad(P, "    <initial_data>1</initial_data>\n", "", "one_const", "constant", "no value"),
    "unknown element": bad(J, "<plotstyle lin", "<plotstile lin", "<plotstile", "unknown element", "mean 'plotstyle'?"),
    "unknown attribute": bad(J, "linespec", "linspec", "linspec", "no attribute 'linspec'", "did you mean 'linespec'?"),
}
BAD_MODELS = {
    f"{group}: {name}": case
    for group, cases in (
        ("ids and names", IDS_AND_NAMES),
        ("kinds", KINDS),
        ("counts and types", COUNTS_AND_TYPES),
        ("ranges", RANGES),
        ("rules", RULES),
        ("chain", CHAIN),
        ("motors", MOTORS),
        ("muscles", MUSCLES),
        ("activations", ACTIVATIONS),
        ("geometry", GEOMETRY),
        ("rest", REST),
    )
    for name, case in cases.items()
}
