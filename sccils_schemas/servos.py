"""Motor elements, `aimotor` and `motor`: what messages call them."""

from __future__ import annotations

from sccils_schemas.documents import AiMotor, Motor, Servo
from sccils_schemas.elements import tag_of


def model_of(servo: Servo) -> str:
    """Return the model a motor says it is; nothing where it does not."""
    match servo:
        case Motor():
            return servo.model
        case AiMotor():
            return servo.modelnum or ""
        case _:
            return ""


def label_of(servo: Servo) -> str:
    """Return the element with its model, for messages: `aimotor 701`, `motor XM430-W350`."""
    return f"{tag_of(servo)} {model_of(servo)}".rstrip()
