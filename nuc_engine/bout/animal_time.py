"""A bout whose seconds are the animal's: its documents and its end in the leg's time (section 9.2.2.5).

with tempfile.TemporaryDirectory() as folder:
    run_bout(in_leg_time(spec, Path(folder)))
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from nuc_engine.bout.prepare import refusal_lines
from nuc_engine.bout.spec import BoutRefused, BoutSpec
from nuc_engine.machine.locations import find_configuration, find_script
from nuc_engine.model.scaling import Scaling, ScalingError, model_in_leg_time
from nuc_engine.plants.spec import spec_file
from sccils_schemas.model import load_model, load_script
from sccils_schemas.writer import write


def in_leg_time(spec: BoutSpec, folder: Path) -> BoutSpec:
    """Return the bout in the leg's time, with copies of its documents in `folder`.

    What `spec` holds of writes and events besides its documents is in the leg's time already. Raises BoutRefused for a
    configuration without a scale, or one that cannot be scaled, and for documents with errors; NotFound.
    """
    source = find_configuration(spec.config)
    model, problems = load_model(source)
    if model is None:
        raise BoutRefused(refusal_lines(problems))
    try:
        scaling, documents = Scaling(model), model_in_leg_time(model)
    except ScalingError as error:
        raise BoutRefused(str(error)) from error
    config = folder / model.name
    shutil.copytree(source, config)
    for name, data in documents.items():
        (config / name).write_bytes(data)
    if (source / spec.plant_file).exists():
        # A plant may be another configuration's, found beside its own.
        shutil.copyfile(spec_file(source / spec.plant_file), config / spec.plant_file)
    script = None
    if spec.script is not None:
        path = find_script(spec.script)
        document, problems = load_script(path, model)
        if document is None:
            raise BoutRefused(refusal_lines(problems))
        script = folder / path.name
        script.write_bytes(write(scaling.of(document)))
    return replace(
        spec,
        config=str(config),
        script=None if script is None else str(script),
        duration_s=spec.duration_s * scaling.factor,
        labels={"time": f"animal: seconds x {scaling.factor:.9g} are the leg's", **spec.labels},
    )
