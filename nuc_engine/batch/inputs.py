"""A configuration and a script, as bytes: what a sweep began with is what each of its bouts gets, wherever it runs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from nuc_engine.batch.errors import BulkRefused
from nuc_engine.machine.locations import PLANT_SPEC_FILE, find_configuration, find_script
from nuc_engine.plants.spec import spec_file
from nuc_engine.recording.files import SCRIPT_FILE
from sccils_schemas.model import MODEL_FILES


@dataclass(frozen=True, slots=True)
class BoutInputs:
    """The documents of a bout: `files` by name in order of name, and the script's bytes, None without a script.

    `name` is the configuration's name, `script_name` the script's file name.
    """

    name: str
    files: tuple[tuple[str, bytes], ...] = field(repr=False)
    script: bytes | None = field(default=None, repr=False)
    script_name: str = SCRIPT_FILE

    def unpack(self, folder: Path) -> tuple[Path, Path | None]:
        """Write the documents into a folder; return where configuration and script are."""
        config = folder / "config"
        config.mkdir()
        for name, data in self.files:
            (config / name).write_bytes(data)
        if self.script is None:
            return config, None
        script = folder / self.script_name
        script.write_bytes(self.script)
        return config, script

    def sums(self) -> dict[str, str]:
        """Return the sha256 of each document, by file name."""
        documents = dict(self.files) | ({} if self.script is None else {"script": self.script})
        return {name: hashlib.sha256(data).hexdigest() for name, data in documents.items()}


def read_inputs(config: str, script: str | None, plant_file: str = PLANT_SPEC_FILE) -> BoutInputs:
    """Return the documents of a configuration and a script, each a path or a name; `plant_file` becomes plant.toml.

    Raises NotFound, BulkRefused where a document cannot be read, PlantSpecError for a plant.toml that names none.
    """
    folder = find_configuration(config)
    sources = {name: folder / name for name in MODEL_FILES}
    if (folder / plant_file).exists():
        sources[PLANT_SPEC_FILE] = spec_file(folder / plant_file)
    path = None if script is None else find_script(script)
    try:
        files = tuple(sorted((name, source.read_bytes()) for name, source in sources.items()))
        content = None if path is None else path.read_bytes()
    except OSError as error:
        raise BulkRefused(f"{error.filename}: {error.strerror}; expected a document of {config}") from error
    return BoutInputs(folder.resolve().name, files, content, SCRIPT_FILE if path is None else path.name)
