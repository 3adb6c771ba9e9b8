"""Scripts and configurations over HTTP: what they do, how they differ, dry runs; and what somebody sends instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nuc_engine.analysis.load import load_bout
from nuc_engine.client import Client
from nuc_engine.model.planning import build_plan
from nuc_engine.model.values import initial_values, plain_value
from nuc_engine.plants.spec import MOST_BYTES
from nuc_engine.ui import scripting
from nuc_engine.ui.answers import MOST_LONG
from nuc_engine.ui.bouts import BoutPages
from nuc_engine.ui.scripts import ScriptPages
from nuc_engine.ui.tab import TabClient
from sccils_schemas.model import load_model
from tests.client.fake_daemon import FakeDaemon, Leg, serving
from tests.ui.conftest import PATIENCE_S, Page, Start

CONFIGS = Path(__file__).parents[2] / "configs"
ODD_NAMES = ("..", "../x", "/etc", "a/b", "", ".", "x\0", "-x", "{folder}", "a" * 65, "<b>", "é", "a\nb")
SCRIPT = """<hdsoscript>
  <hdsoMod idNum="101" NumElts="1" time="0.2">-0.5</hdsoMod>
  <gradual time="0.3" duration="0.2" steps="4"><hdsoMod idNum="102" NumElts="1">0.5</hdsoMod></gradual>
  <hdsoSpec idNum="-1" time="0.4"/>
  <kick time="0.1" force="0 0 1" duration="0.05"/>
</hdsoscript>
"""


def documents(name: str = "lin_roach") -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in (CONFIGS / name).iterdir()}


def held(name: str = "lin_roach") -> dict[str, Any]:
    """Return the values a bout begins with, as the daemon says values."""
    model, _ = load_model(CONFIGS / name)
    assert model is not None
    plan = build_plan(model)
    names = {hdso.id_num: hdso.name for hdso in plan.hdsos}
    return {h.name: plain_value(h, v, names) for h, v in zip(plan.hdsos, initial_values(plan), strict=True)}


@pytest.fixture
def page(beside: Start, bouts: BoutPages) -> Page:
    return beside(ScriptPages(bouts.readers, bouts.jobs))


def asked(page: Page, path: str, **body: Any) -> Any:
    answer = page.web.post(f"/api/{path}", json=body)
    return answer.json() if answer.status_code in (200, 202) else (answer.status_code, answer.json()["error"]["text"])


# --- what a script does ---


def test_a_script_is_told_entry_by_entry_in_order_of_time(page: Page) -> None:
    told = asked(page, "timeline", text=SCRIPT)
    assert told["problems"] == []
    assert told["end_s"] == 0.5
    kinds = [(entry["time_s"], entry["kind"], entry["ref"], entry["line"]) for entry in told["entries"]]
    assert kinds == [(0.1, "by hand", "", 5), (0.2, "write", 101, 2), (0.3, "gradual", 102, 3), (0.4, "request", -1, 4)]
    assert (told["entries"][2]["duration_s"], told["entries"][2]["steps"]) == (0.2, 4)


def test_what_waits_for_a_rule_and_what_is_sensed_are_told_part_by_part() -> None:
    when = '<when rule="a &gt; b" holds="0.5" until="9" times="2"><hdsoMod idNum="101" NumElts="1">3</hdsoMod></when>'
    senses = '<sense time="1" sensor="s" mode="value" value="2.5"/><sense time="2" sensor="s" mode="off"/>'
    armed, *sensed = scripting.timeline(f'<hdsoscript version="0.2">{when}{senses}</hdsoscript>')["entries"]
    assert (armed["kind"], armed["data"], armed["writes"]) == ("when", "a > b", [{"ref": 101, "data": [3.0]}])
    assert (armed["holds_s"], armed["until_s"], armed["times"]) == (0.5, 9.0, 2)
    assert [(entry["kind"], entry["ref"], entry["data"]) for entry in sensed] == [
        ("sense", "s", "2.5"),
        ("sense", "s", "as measured"),
    ]


def test_what_is_no_script_has_problems_at_their_lines(page: Page) -> None:
    told = asked(page, "timeline", text="<hdsoscript>\n<hdsoMod/>\n</hdsoscript>")
    assert {problem["line"] for problem in told["problems"]} == {2}
    assert told["entries"] == []
    for text in (
        "",
        "x",
        "<a>" * 1000,
        "\0",
        documents()["joints.xml"],
        "<!DOCTYPE a [<!ENTITY b 'c'>]><a/>",
    ):
        told = asked(page, "timeline", text=text)
        assert told["entries"] == []
        assert told["problems"], text


def test_what_is_told_of_a_script_is_bounded() -> None:
    mod = '<hdsoMod idNum="101" NumElts="1" time="{}">1</hdsoMod>'
    many = "".join(mod.format(k) for k in range(scripting.MOST_ENTRIES + 7))
    told = scripting.timeline(f"<hdsoscript>{many}</hdsoscript>")
    assert len(told["entries"]) == scripting.MOST_ENTRIES
    assert told["left_out"] == 7
    numbers = f'<hdsoMod idNum="101" NumElts="5000" time="0">{"1 " * 5000}</hdsoMod>'
    rule = f'<hdsoMod idNum="166" NumElts="1" datatype="char" time="0">{"1|" * 3000}1</hdsoMod>'
    told = scripting.timeline(f"<hdsoscript>{numbers}{rule}</hdsoscript>")
    assert all(len(entry["data"]) <= 400 for entry in told["entries"])


def test_every_element_is_there_to_be_completed(page: Page) -> None:
    told = page.web.get("/api/schema").json()
    assert "hdsoscript" in told["roots"]
    assert told["elements"]["gradual"]["children"] == ["hdsoMod"]
    assert told["elements"]["hdsoMod"]["attributes"]["idByName"] == {"required": False, "values": ["y", "n"]}


# --- how configurations differ ---


def test_what_is_in_force_is_no_difference_and_what_was_set_is_one(page: Page) -> None:
    files, values = documents(), held()
    given = {"name": "lin_roach", "before": files, "after": files}
    assert asked(page, "differences", **given, values=values)["differences"] == []
    values["CTr_lev_TC1_load"] = -0.25
    (found,) = asked(page, "differences", **given, values=values)["differences"]
    assert (found["section"], found["name"], found["a"], found["b"]) == ("value", "CTr_lev_TC1_load", "-0.25", "0")
    changed = {**files, "parameters.xml": files["parameters.xml"].replace("Servo speed and torque", "Speed")}
    assert asked(page, "differences", name="x", before=files, after=changed)["differences"] == []


@pytest.mark.parametrize("name", ODD_NAMES)
def test_no_name_leads_out_of_a_folder(page: Page, tmp_path: Path, name: str) -> None:
    files = documents()
    before = set(tmp_path.rglob("*"))
    assert asked(page, "differences", name=name, before=files, after=files)[0] == 422
    run = {"documents": files, "values": {}, "angles": {}, "script": SCRIPT, "duration_s": 1}
    assert asked(page, "dryruns", name=name, **run)[0] == 422
    if "/" in name or name in ("..", ".", "", "x\0"):
        odd = {**files, name: "<x/>"}
        assert asked(page, "differences", name="x", before=files, after=odd)[0] == 422
        assert asked(page, "differences", name="x", before=odd, after=files)[0] == 422
        assert asked(page, "dryruns", name="x", **{**run, "documents": odd})[0] == 422
    assert set(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("path", ["timeline", "differences", "dryruns", "saved"])
def test_what_is_no_request_is_refused(page: Page, path: str) -> None:
    for body in (
        b"x",
        b"[]",
        b"{}",
        b'{"text": 3}',
        b'{"text": "", "out": "/etc/x"}',
        b"[" * 9999,
        b"\xff",
        b'{"text": "\\ud800"}',
        b"",
    ):
        assert page.web.post(f"/api/{path}", content=body).status_code == 400
    assert page.web.post(f"/api/{path}", content=b" " * (MOST_LONG + 1)).status_code == 413
    assert page.web.post(f"/api/{path}", content=b"x", headers={"authorization": "Bearer x"}).status_code == 401


def test_documents_are_answered_with_the_values_they_begin_with(page: Page) -> None:
    files = documents()
    assert asked(page, "saved", documents=files) == held()
    broken = files | {"parameters.xml": files["parameters.xml"].replace("</hdsolist>", "")}
    for wrong in (broken, {}, {"../x": "<x/>"}):
        status, why = asked(page, "saved", documents=wrong)
        assert status == 422
        assert why


@pytest.mark.parametrize(
    "plant",
    ["x", "[" * 9999, "a = [" * 9999, "x = " + "9" * 5000, "a = 1\n" * (MOST_BYTES // 6 + 1), "joint = 3", "\0"],
)
def test_a_plant_that_is_none_is_told_by_a_reader_within_bounds(page: Page, plant: str) -> None:
    run = {"values": held(), "angles": {"Femur-Tibia": 90.0}, "script": SCRIPT, "duration_s": 1}
    found = asked(page, "dryruns", name="x", documents=documents() | {"plant.toml": plant}, **run)
    # A plant that can be read as TOML is refused by the run itself.
    assert found["state"] in ("waiting", "running", "failed") if plant == "joint = 3" else found[0] == 422


def test_values_that_are_none_of_the_model_are_told(page: Page) -> None:
    files = documents()
    bad: list[dict[str, Any]] = [{"CTr_lev_TC1_load": value} for value in ("x", [1, 2], {"a": 1}, [None], 1e39)]
    for values in (*bad, {"Enter_FT_Flexion": "(("}, {"Enter_FT_Flexion": [1]}, {"motor_speed": 99}):
        status, text = asked(page, "differences", name="x", before=files, after=files, values=values)
        assert status == 422
        assert text
    assert asked(page, "differences", name="x", before=files, after={}, values=None)[0] == 422


# --- dry runs ---


def test_a_dry_run_begins_from_values_and_pose_in_force_and_is_shown_as_a_bout(page: Page, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("matplotlib")
    angles = {"Thorax-Coxa1": 31.0, "Thorax-Coxa2": 2.3, "Coxa-Trochanter": 77.0, "Femur-Tibia": 101.5}
    values = {**held(), "CTr_lev_TC1_load": -0.75, "TC1_angle": 12.0}
    given = {"documents": documents(), "values": values, "angles": {**angles, "no_joint": 3.0}, "seed": 4}
    job = asked(page, "dryruns", name="lin_roach", script=SCRIPT, duration_s=0.6, **given)
    assert job["kind"] == "dry run"
    job = page.ended(job["id"])
    assert (job["state"], job["result"]) == ("done", f"job:{job['id']}"), job
    told = page.web.get(f"/api/bouts/{job['result']}").json()
    assert told["dry_run"] is True
    assert told["name"] == f"dry run {job['id']}"
    assert told["manifest"]["spec"]["labels"]["kind"] == "dry run"
    assert "manifest.json" in [file["name"] for file in told["files"]]
    assert page.web.get(f"/api/bouts/{job['result']}/records?most=4").status_code == 200
    figure = page.web.get(f"/api/bouts/{job['result']}/figures/summary_states.png")
    assert figure.status_code == 200, figure.text
    folder = tmp_path / "spare" / job["id"] / "bout"
    bout = load_bout(folder)
    for joint in bout.joints:
        if joint.angle is not None:
            assert bout.sensors.column(joint.angle)[0] == pytest.approx(angles[joint.name], abs=2.0)
    model, _ = load_model(folder)
    assert model is not None
    assert model.hdso("CTr_lev_TC1_load").initial_data == (-0.75,)
    assert page.web.get("/api/bouts").json()["total"] == 0, "it is none of the daemon's bouts"


def test_a_dry_run_that_can_not_be_says_why(page: Page) -> None:
    pytest.importorskip("mujoco")
    files = documents()
    run: dict[str, Any] = {"name": "x", "documents": files, "values": {}, "angles": {}, "script": SCRIPT}
    for wrong in (
        {"duration_s": 0},
        {"duration_s": 1e9},
        {"duration_s": 1, "seed": -1},
        {"duration_s": 1, "seed": 1 << 40},
    ):
        assert asked(page, "dryruns", **run, **wrong)[0] == 400
    without = {file: text for file, text in files.items() if file != "plant.toml"}
    assert "plant.toml" in asked(page, "dryruns", **{**run, "documents": without, "duration_s": 1})[1]
    assert asked(page, "dryruns", **{**run, "documents": {**files, "plant.toml": "["}, "duration_s": 1})[0] == 422
    job = page.ended(asked(page, "dryruns", **{**run, "script": "<hdsoscript><", "duration_s": 1})["id"])
    assert (job["state"], job["result"]) == ("failed", None)
    assert job["text"]
    job = page.ended(asked(page, "dryruns", **{**run, "angles": {"Femur-Tibia": 1e9}, "duration_s": 1})["id"])
    assert "start_deg" in job["text"]


def test_a_dry_run_can_be_cancelled_and_leaves_nothing(page: Page, tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    job = asked(page, "dryruns", name="x", documents=documents(), values={}, angles={}, script=SCRIPT, duration_s=3600)
    assert page.web.delete(f"/api/jobs/{job['id']}").json()["state"] == "cancelled"
    assert list((tmp_path / "spare").iterdir()) == []
    assert page.web.get(f"/api/bouts/job:{job['id']}").status_code == 404


@pytest.mark.parametrize(
    "number", ["job:", "job:1", "job:..", "job:../1", "job:%2e%2e", "job%3A1", "job:1%2Fbout", "job:x"]
)
def test_nothing_but_what_a_job_has_left_can_be_named(page: Page, number: str) -> None:
    for what in ("", "/files", "/files/manifest.json"):
        assert page.web.get(f"/api/bouts/{number}{what}").status_code == 404


# --- requests of a tab that are longer than a message of its WebSocket ---


def test_long_requests_are_done_by_the_tabs_own_client(start: Start, tmp_path: Path) -> None:
    daemon = FakeDaemon(Leg())
    text = "<hdsoscript/>" + " " * 200_000
    daemon.answers |= {
        "script_text": lambda name: {"name": name, "text": text},
        "store_script": lambda **_: {"path": "p", "kind": "script"},
    }
    page = start()
    page.begin()
    address = f"ipc://{tmp_path}/command"
    with serving(daemon, address):
        tab = TabClient(lambda: Client(address, name="ann (page)", timeout_s=PATIENCE_S), lambda: None, lambda: None)
        page.workbench.clients["key"] = tab

        def do(method: str, **params: Any) -> Any:
            answer = page.web.post("/api/ask/key", json={"method": method, "params": params})
            assert answer.status_code == 200
            return answer.json()["result" if answer.json()["ok"] else "error"]

        try:
            assert do("script_text", name="x")["text"] == text
            assert do("store_script", name="x", text=text)["kind"] == "no_control"
            do("take_control")
            assert do("store_script", name="x", text=text)["path"] == "p"
            assert len(dict(daemon.requests)["store_script"]["text"]) == len(text)
            assert do("subscribe", names=["x"])["kind"] == "unknown_method"
            assert do("store_script", name=3)["kind"] == "bad_request"
        finally:
            tab.leave()
    for body in (b"[", b"\xff", b"[]", b'{"x": 1}'):
        assert page.web.post("/api/ask/key", content=body).status_code == 400
    assert page.web.post("/api/ask/key", content=b" " * (MOST_LONG + 1)).status_code == 413
    for key in ("other", "", "..%2Fkey", "%00", "key%20"):
        answer = page.web.post(f"/api/ask/{key}", content=json.dumps({"method": "status"}))
        assert answer.status_code in (404, 405) or answer.json()["error"]["kind"] == "gone"
    assert page.web.post("/api/ask/key", content=b"{}", headers={"authorization": ""}).status_code == 401
