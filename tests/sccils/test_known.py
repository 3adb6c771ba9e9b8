"""A configuration that was read before: the same model without being read again, and never an older one."""

import re
import shutil
from pathlib import Path

import pytest

from sccils_schemas import model as models

SOURCE = Path(__file__).resolve().parents[2] / "configs" / "lin_roach"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of a configuration, of which no process has read anything yet."""
    copy = shutil.copytree(SOURCE, tmp_path / "a")
    text = (copy / "sensors.xml").read_text()
    (copy / "sensors.xml").write_text(text.replace("What this leg can feel", str(tmp_path)))
    return copy


def test_it_is_read_once_and_is_the_model_of_the_folder_that_is_asked_for(folder, monkeypatch):
    first, _ = models.load_model(folder)
    other = shutil.copytree(folder, folder.parent / "b")
    monkeypatch.setattr(models, "read_document", None)
    again, problems = models.load_model(other)
    assert again is not None
    assert first is not None
    assert problems.ok
    assert (again.name, again.folder, again.files) == ("b", other, first.files)
    assert again.jointlist == first.jointlist
    sources = [part.source for part in (again.jointlist, again.parameters, again.sensors)]
    assert sources == [str(other / name) for name in models.MODEL_FILES]


def test_one_that_was_changed_is_read_again(folder):
    models.load_model(folder)
    text = (folder / "joints.xml").read_text()
    (folder / "joints.xml").write_text(text.replace('fmax="18"', 'fmax="19"'))
    model, _ = models.load_model(folder)
    assert model is not None
    assert model.jointlist.joints[0].muscles[0].fmax == 19


def test_what_has_a_warning_is_read_each_time_so_that_it_is_said_each_time(folder):
    text = (folder / "joints.xml").read_text()
    (folder / "joints.xml").write_text(re.sub("<DHline>.*?</DHline>", "", text, flags=re.DOTALL))
    said = [list(models.load_model(folder)[1]) for _ in range(2)]
    assert said[0] == said[1]
    assert any("DHline" in problem.what for problem in said[0])


def test_no_more_are_remembered_than_may(folder):
    text = (folder / "joints.xml").read_text()
    for k in range(models._MOST_SOUND + 2):
        (folder / "joints.xml").write_text(text.replace('fmax="18"', f'fmax="{100 + k}"'))
        models.load_model(folder)
        assert 1 <= len(models._SOUND) <= models._MOST_SOUND
