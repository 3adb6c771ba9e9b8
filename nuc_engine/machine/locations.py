"""Where configurations, scripts and verdicts are: the working folder first, then what came with the package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent
"""The folder of the package, and the one it lies in: the checkout, or site-packages."""

PLANT_SPEC_FILE = "plant.toml"
"""The name of what describes the emulated leg in a configuration's folder, and in a data directory."""
RUN_FILE = "run.toml"
"""The name of a RunConfig in a configuration's folder, and in a data directory."""


class NotFound(Exception):
    """A configuration or script that is nowhere; the message lists what there is."""


def find_configuration(name: str) -> Path:
    """Return the folder of a configuration given as a folder or as a name. Raises NotFound."""
    given = Path(name)
    if given.is_dir():
        return given
    if given.name == name:
        for root in _roots("configs"):
            if (root / name).is_dir():
                return root / name
    known = ", ".join([*list_configurations(), *list_runs()]) or "none"
    raise NotFound(f"no configuration {name!r}: expected a folder with joints.xml or run.toml, or one of: {known}")


def is_episode(folder: Path) -> bool:
    """Say whether a folder holds a RunConfig: as a configuration, or as the data directory of an episode.

    The data directory of a leg's bout has its own documents beside its run.toml: it is a configuration.
    """
    from sccils_schemas.model import JOINTS_FILE

    return (folder / RUN_FILE).is_file() and not (folder / JOINTS_FILE).is_file()


def find_run(name: str) -> Path | None:
    """Return the run.toml of a RunConfig given as that file, as a folder or by name; None where it is none of these."""
    given = Path(name)
    if given.name == RUN_FILE and given.is_file():
        return given
    try:
        folder = find_configuration(name)
    except NotFound:
        return None
    return folder / RUN_FILE if is_episode(folder) else None


def find_script(name: str) -> Path:
    """Return the file of a script given as a path or as a name with or without .xml. Raises NotFound."""
    given = Path(name)
    if given.is_file():
        return given
    if given.name == name:
        for root in _roots("scripts"):
            for path in (root / name, root / f"{name}.xml"):
                if path.is_file():
                    return path
    known = ", ".join(list_scripts()) or "none"
    raise NotFound(f"no script {name!r}: expected an XML file, or one of: {known}")


def list_configurations() -> list[str]:
    """Return the names of all configurations that can be found by name."""
    return sorted({path.parent.name for root in _roots("configs") for path in root.glob("[!.]*/joints.xml")})


def list_runs() -> list[str]:
    """Return the names of all configurations that are a RunConfig, found by name."""
    return sorted({path.parent.name for root in _roots("configs") for path in root.glob(f"[!.]*/{RUN_FILE}")})


def list_scripts() -> list[str]:
    """Return the names of all scripts that can be found by name."""
    return sorted({path.stem for root in _roots("scripts") for path in root.glob("*.xml")})


def find_verdicts() -> Path | None:
    """Return the folder with the last verdicts on the experiments, one folder each; None where there is none."""
    return next((root for root in _roots("docs/experiments") if any(root.glob("*/verdict.json"))), None)


def _roots(kind: str) -> list[Path]:
    # An installed wheel carries its data inside the package; a checkout has it beside the package.
    candidates = [Path(kind), PACKAGE / "shipped" / kind, CHECKOUT / kind]
    return [path for path in candidates if path.is_dir()]
