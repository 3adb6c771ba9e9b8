"""What can break, and what happens then: the rows of docs/faults.md.

`python -m benchmarks.faults page` writes the page from them. Each row names its tests.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A fault: what the leg does, what the log says, what is to be done, and which tests make it happen.

    `bound_ms` is how soon the torque is off every servo that can hear it, None where that is not promised or is not
    what happens. `tests` are below tests/. `deeds` are what `benchmarks.faults.measure` does to the daemon to see how
    long it takes: (process, signal, ms); `trouble` is what it does to the line instead, one of
    `tests.realtime.troubles`.

    What a fault does stands in `nuc_engine.control.faults` alone: in `leg` and `then`, `{core_dead}` stands for what
    the daemon does at that fault, `{off}` for torque off that was asked for; `{core_dead.delay}` and
    `{core_dead.after}` say after how long, and after how many in a row.
    """

    what: str
    leg: str
    log: str = ""
    then: str = ""
    tests: tuple[str, ...] = ()
    bound_ms: int | None = None
    deeds: tuple[tuple[str, str, float], ...] = ()
    trouble: str = ""


TABLES: dict[str, tuple[Row, ...]] = {
    "Processes": (
        Row(
            what="core killed, or crashed",
            leg="{core_dead}",
            log="`core_dead`, `process_died`",
            then="another core runs at once; `arm`",
            tests=(
                "realtime/test_processes.py::test_a_core_that_dies_or_stops_leaves_the_leg_limp_within_50_ms",
                "daemon/test_core.py::test_an_error_of_its_own_takes_the_torque_off_and_is_told",
            ),
            bound_ms=50,
            deeds=(("core", "KILL", 0),),
        ),
        Row(
            what="core stopped (SIGSTOP), and back",
            leg=("{core_stalled}; the core is killed before the guardian writes, so that waking it up does nothing"),
            log="`core_stalled`, `process_died`",
            then="another core runs at once; `arm`",
            tests=("realtime/test_processes.py::test_a_core_that_dies_or_stops_leaves_the_leg_limp_within_50_ms",),
            bound_ms=50,
            deeds=(("core", "STOP", 0),),
        ),
        Row(
            what="guardian killed, or crashed",
            leg=(
                "goes on, if another guardian is there within some 25 ms, as it mostly is (it takes "
                "its rights within 2 ms); else {guardian_lost}"
            ),
            log="`process_died`; `guardian_lost` where it took longer",
            then="nothing, or `arm`",
            tests=(
                "realtime/test_processes.py::test_a_guardian_that_is_killed_is_replaced_and_the_new_one_watches",
                "realtime/test_crashes.py::test_a_guardian_that_crashes_is_replaced_and_said",
            ),
            deeds=(("guardian", "KILL", 0),),
        ),
        Row(
            what="guardian stopped, and back",
            leg="{guardian_lost}, by the core itself",
            log="`guardian_lost`, `process_stalled`, `process_died`",
            then="it is replaced after 0.1 s; `arm`",
            tests=(
                "realtime/test_processes.py::test_a_guardian_that_is_stopped_makes_the_core_take_the_torque_off_itself",
            ),
            bound_ms=50,
            deeds=(("guardian", "STOP", 0),),
        ),
        Row(
            what="core and guardian killed together",
            leg="{core_dead}",
            log="`core_dead`, `process_died`",
            then="`arm`",
            tests=(
                "realtime/test_processes.py::test_core_and_guardian_killed_together_leave_the_leg_limp_and_latched",
            ),
            bound_ms=50,
            deeds=(("core", "KILL", 0), ("guardian", "KILL", 0)),
        ),
        Row(
            what="core and guardian stopped together",
            leg="{core_dead}: the supervisor sees that neither lives, and ends both",
            log="`process_stalled` and `process_died` of both, `core_dead`",
            then="`arm`",
            tests=(
                "realtime/test_deaths.py::test_core_and_guardian_stopped_together_are_limp_within_a_tenth_of_a_second",
            ),
            bound_ms=100,
            deeds=(("core", "STOP", 0), ("guardian", "STOP", 0)),
        ),
        Row(
            what="core killed, and the supervisor before another core has begun",
            leg=(
                "{supervisor_lost}; the new core finds itself alone, sees that the torque is off, "
                "and ends, after 5 s at the latest where a servo does not confirm"
            ),
            log="`supervisor_lost`, if the service still hears of it",
            then="start it again",
            tests=(
                "realtime/test_deaths.py::test_a_core_born_just_before_its_daemon_dies_ends_too",
                "daemon/test_core.py::test_a_core_that_is_born_alone_takes_the_torque_off_and_ends",
            ),
            bound_ms=50,
            deeds=(("core", "KILL", 0), ("supervisor", "KILL", 10)),
        ),
        Row(
            what="two or three of them at random, killed, crashed or stopped for a second within 0.1 s of each other",
            leg=(
                "limp: within 100 ms of the last of it; where the supervisor is among the stopped, "
                "1.2 s after the first. Core, guardian and supervisor killed together: as a power "
                "cut, below"
            ),
            log="of each",
            then="as above",
            tests=("realtime/test_deaths.py::test_whatever_dies_the_leg_is_limp_and_nothing_is_left",),
        ),
        Row(
            what="guardian and supervisor killed together",
            leg="{guardian_lost}, by the core itself, which then ends",
            log="`guardian_lost`, if the service still hears of it",
            then="start it again; `nuc recover DATA`",
            tests=("realtime/test_crashes.py::test_a_core_that_is_left_alone_takes_the_torque_off_and_ends",),
            bound_ms=50,
            deeds=(("guardian", "KILL", 0), ("supervisor", "KILL", 0)),
        ),
        Row(
            what="service killed, or crashed",
            leg="goes on",
            log="`process_died`, `logging_resumed`",
            then=(
                "clients connect again by themselves; no record is lost, none written twice. With "
                "`--on-service-loss stop` {service_lost} after {service_lost.delay} without a service"
            ),
            tests=(
                "realtime/test_processes.py::test_a_service_that_dies_is_replaced_and_the_leg_goes_on",
                "realtime/test_disk.py::test_a_service_killed_again_and_again_loses_no_record_and_writes_none_twice",
                "daemon/test_core.py::test_the_service_may_be_lost_unless_the_configuration_says_otherwise",
            ),
            deeds=(("service", "KILL", 0),),
        ),
        Row(
            what="service stopped, and back",
            leg="goes on",
            log="nothing; after 5 s `process_stalled`: it is replaced",
            then="nothing: it catches up",
            tests=("realtime/test_processes.py::test_a_service_that_is_stopped_and_goes_on_changes_nothing",),
            deeds=(("service", "STOP", 0),),
        ),
        Row(
            what="supervisor killed, or crashed",
            leg="{supervisor_lost}; everything ends",
            log="`supervisor_lost`, if the service still hears of it",
            then="systemd starts it again, or you do; the bout is whole, and ends with the fault",
            tests=(
                "realtime/test_processes.py::test_a_supervisor_that_is_killed_takes_everything_with_it_torque_off_first",
                "realtime/test_crashes.py::test_a_main_process_that_crashes_leaves_a_limp_leg_and_a_whole_log",
            ),
            bound_ms=50,
            deeds=(("supervisor", "KILL", 0),),
        ),
        Row(
            what="supervisor stopped, and back",
            leg=(
                "goes on for {supervisor_lost.delay}, then {supervisor_lost}: systemd, which it feeds, would end "
                "everything after a second. What dies meanwhile is not replaced"
            ),
            log="`supervisor_lost`; when it goes on, `process_died`",
            then="`arm`; systemd ends and starts it again after `WatchdogSec`",
            tests=(
                "realtime/test_processes.py::test_a_supervisor_that_is_stopped_does_not_stop_the_leg_and_the_guardian_needs_it_not",
                "realtime/test_processes.py::test_a_supervisor_that_stands_still_for_longer_leaves_the_leg_limp",
            ),
            deeds=(("supervisor", "STOP", 0),),
        ),
        Row(
            what="emulator killed, or crashed",
            leg="as an adapter that is unplugged, with servos that lose their supply",
            log="`bus_lost`, `bus_found`",
            then="start it again under the same name; `arm`",
            tests=(
                "realtime/test_processes.py::test_an_emulator_that_dies_is_a_bus_that_is_lost_and_found_again_limp",
            ),
        ),
        Row(
            what="emulator dies again and again at the start",
            leg=(
                "nothing drives: there is no bus. The daemon's own is started three times, then the "
                "daemon ends, exit status 1"
            ),
            log="`emulator_ended`, `shutdown` with how it ended; on stderr, what it said",
            then="mend what it said",
            tests=("realtime/test_crashes.py::test_a_leg_that_can_not_be_emulated_ends_the_daemon_with_the_reason",),
        ),
        Row(
            what="emulator stopped, and back",
            leg="as a bus that is silent",
            log="`motor_silent`",
            then="`arm`",
            tests=(
                "realtime/test_processes.py::test_an_emulator_that_stands_still_is_silent_servos_and_all_are_limp_in_the_end",
            ),
            trouble="the emulator stands still, from its going on",
        ),
        Row(
            what="somebody asks for it (`nuc ctl off`, whoever has control)",
            leg=(
                "{off}; mode STOPPED. Past the service, where that is killed, stopped, flooded or "
                "without descriptors, or the supervisor stands still: within 100 ms ([channel](channel.md))"
            ),
            log="`off`; `off_asked`, with who and why",
            then="`arm`",
            tests=(
                "realtime/test_off.py::test_off_is_on_the_wire_within_100_ms_while",
                "realtime/test_processes.py::test_anyone_who_asks_for_torque_off_gets_it",
                "realtime/test_client_faults.py::test_whoever_has_control_everybody_may_take_the_torque_off",
                "daemon/test_core.py::test_torque_off_that_was_asked_for_is_no_fault_and_nothing_drives_until_armed",
            ),
            bound_ms=50,
            trouble="off is asked for",
        ),
        Row(
            what="the daemon is told to end (SIGTERM, Ctrl-C)",
            leg="limp within 50 ms, confirmed by every servo; exit status 1 where one did not confirm within 3 s",
            log="`shutdown`, `torque_unconfirmed` where one did not",
            then="`nuc bus release URL` for a servo that did not confirm",
            tests=(
                "realtime/test_processes.py::test_an_end_that_is_asked_for_is_confirmed_by_every_servo",
                "realtime/test_processes.py::test_a_servo_that_does_not_answer_at_the_end_is_said_and_makes_the_status_1",
            ),
            bound_ms=50,
            deeds=(("supervisor", "TERM", 0),),
        ),
    ),
    "The bus": (
        Row(
            what="silent (cut wire, converter without supply)",
            leg=(
                "no goal is sent after the first cycle without answers (25 ms); after {motor_silent.after} of them "
                "(150 ms for four servos at 57,600 bit/s) {motor_silent}, and torque-off again in every cycle. "
                "Each servo is limp at the latest 50 ms after it can hear again"
            ),
            log="`reply_missed`, then `motor_silent` with the servo's name",
            then="mend it; `arm` is refused with the names of the servos that have not confirmed",
            tests=(
                "realtime/test_bus_faults.py::test_a_bus_that_falls_silent_is_limp_as_soon_as_it_speaks_again",
                "daemon/test_bus_rows.py::test_a_row",
            ),
            trouble="silence",
        ),
        Row(
            what="held up, and everything comes at once afterwards",
            leg="the same; what had waited is at most the cycle under way, with the torque-off behind it",
            log="`motor_silent`",
            then="`arm`",
            tests=(
                "realtime/test_bus_faults.py::test_a_line_that_is_held_up_ends_the_bout_and_old_goals_are_not_obeyed_afterwards",
                "daemon/test_bus_rows.py::test_a_row",
            ),
            trouble="held up for 400 ms",
        ),
        Row(
            what="replies late, as when adapter or computer are held up",
            leg=(
                "up to D (`late_us`; [resynchronisation](resynchronisation.md)): no goal is sent while replies are "
                "late, and each servo must answer twice in time before it is driven again. For more than "
                "{bus_held_up.delay}: {bus_held_up}"
            ),
            log=("`replies_late`, with how late the core woke up and how many bytes were owed; then `bus_held_up`"),
            then=(
                "see what holds it up (USB hub, latency timer, a busy computer), `nuc bus latency` measures it; `arm`"
            ),
            tests=(
                "daemon/test_bus_rows.py::test_a_row",
                "realtime/test_late_lines.py::test_a_line_that_is_held_up_sends_no_servo_where_another_was",
            ),
            trouble="replies late by 15 ms",
        ),
        Row(
            what="adapter unplugged, and back",
            leg=(
                "servos hold their last goal while it is out. It is looked for 50 times a second; from its being "
                "plugged in: {bus_lost}"
            ),
            log="`bus_lost`, `bus_found`",
            then="plug it in (any port of the computer, if the URL is a stable name, see [install](install.md)); `arm`",
            tests=(
                "realtime/test_processes.py::test_a_port_that_was_unplugged_is_limp_within_50_ms_of_being_found_and_stays_so",
                "daemon/test_bus_rows.py::test_a_row",
            ),
            bound_ms=70,
            trouble="unplugged, from its being plugged in",
        ),
        Row(
            what="one of two buses gone",
            leg="what hangs on the other: {bus_lost}; for the one that is gone as above",
            log="`bus_lost` with its name (behind `motor_silent`, where its servos fell silent before)",
            then="plug it in: both are released then; `arm`",
            tests=(
                "realtime/test_two_buses.py::test_when_one_bus_is_gone_the_other_is_limp_within_50_ms_and_both_are_once_it_is_back",
                "realtime/test_two_buses.py::test_the_daemon_emulates_each_bus_in_a_process_of_its_own_and_starts_one_that_died_again",
                "daemon/test_bus_rows.py::test_a_row",
            ),
            bound_ms=50,
        ),
        Row(
            what="a servo babbles",
            leg="{motor_silent}: all hear it, but no confirmation gets through",
            bound_ms=150,
            log="`motor_silent`, `torque_unconfirmed`",
            then="take the babbling servo off the bus; `arm`",
            tests=(
                "realtime/test_bus_faults.py::test_a_servo_that_babbles_ends_the_bout_and_all_obey_the_torque_off_nobody_hears_confirmed",
                "daemon/test_bus_rows.py::test_a_row",
            ),
            trouble="a servo babbles",
        ),
        Row(
            what="1 % of all bytes lost",
            leg="goes on; a servo whose reply is missing is read, not driven, in the next cycle",
            log="`reply_missed` for each",
            then="look at cable and supply",
            tests=(
                "realtime/test_bus_faults.py::test_at_one_percent_of_bad_bytes_the_bout_goes_on_and_everything_detectable_is_counted",
                "daemon/test_bus_rows.py::test_a_row",
            ),
        ),
        Row(
            what=(
                "a servo's position jumps further than its shaft can turn (stuck and freed a long "
                "way off, over the end of its scale)"
            ),
            leg=(
                "AI motor, wCK: read, not driven, until time has made the jump possible; {motor_silent.after} such "
                "replies in a row are `motor_silent`. Dynamixel, STS: refused once, and believed "
                "when the next reading agrees with it"
            ),
            log="`reply_missed`",
            then="look at gears and calibration",
            tests=(
                "drivers/test_wrong_measurements.py::test_what_is_beyond_the_window_is_refused_as_long_as_the_shaft_can_not_have_got_there",
                "daemon/test_bus_rows.py::test_a_row",
            ),
        ),
        Row(
            what="one bit flipped in 1 % of all bytes",
            leg=(
                "AI motor, wCK: goes on, likewise. Dynamixel, STS: {motor_silent}, since a request of "
                "theirs has 30 to 50 bytes and every third or other one is spoilt"
            ),
            log="`reply_missed` for each that can be seen; `motor_silent`",
            then="look at cable and supply",
            tests=(
                "realtime/test_bus_faults.py::test_at_one_percent_of_bad_bytes_the_bout_goes_on_and_everything_detectable_is_counted",
                "daemon/test_bus_rows.py::test_a_row",
            ),
        ),
        Row(
            what="1 % of all messages lost, and one bit flipped in 1 % of them",
            leg="goes on, likewise",
            log="`reply_missed` for each that can be seen",
            then="look at cable and supply",
            tests=("daemon/test_bus_rows.py::test_a_row",),
        ),
    ),
    "Servos": (
        Row(
            what="absent from the start",
            leg="nothing is driven; `run` is refused with its name",
            log="`torque_unconfirmed` with its name",
            then="check power, cable and id; `nuc bus scan` shows who is there",
            tests=(
                "realtime/test_servo_faults.py::test_a_servo_that_is_absent_is_named_and_nothing_is_driven_without_it",
            ),
        ),
        Row(
            what="of another model than the configuration says, or one that cannot be set up (families that tell)",
            leg=(
                "nothing is driven: `run`, `arm` and poses are refused with its name and the reason, "
                "and `nuc ctl status` shows them (`refusals`). Found out in a bout: {servo_refused}"
            ),
            log="`servo_refused` with which and why",
            then=(
                "put the right servo there, or `nuc bus adapt` the configuration "
                "([servos](servos.md)), or `nuc bus set` what the reason names; `arm`"
            ),
            tests=(
                "daemon/test_core_refusals.py::test_a_refused_servo_keeps_the_leg_from_running_and_from_being_posed",
                "daemon/test_core_refusals.py::test_a_servo_refused_in_a_bout_ends_it_limp",
            ),
        ),
        Row(
            what="lost in a bout",
            leg=(
                "the others {motor_silent} ({motor_silent.after} cycles); it is asked in every cycle, "
                "and limp within 50 ms of being back"
            ),
            log="`reply_missed`, `motor_silent` with its name",
            then="plug it in; `arm` is refused until it has confirmed",
            tests=(
                "realtime/test_servo_faults.py::test_a_servo_that_is_lost_in_a_bout_makes_the_others_limp_and_comes_back_limp",
            ),
            bound_ms=100,
            trouble="a servo is lost",
        ),
        Row(
            what="stuck: its position does not change any more",
            leg=(
                "goes on. Nobody can tell it from one that stands still. With `--limit` it is never "
                "commanded further than the limit from where it says it is"
            ),
            log="nothing",
            then="look at its position in `nuc ctl watch`",
            tests=(
                "realtime/test_servo_faults.py::test_a_stuck_servo_is_not_noticed_and_never_commanded_beyond_its_limit",
            ),
        ),
        Row(
            what="limp by itself (overload), AI motor and wCK",
            leg="goes on with the others: it answers, and does not say that it hangs",
            log="nothing",
            then=(
                "`off`, which also tells it to be passive; what else ends the overload of a real "
                "servo is not known; `arm`"
            ),
            tests=(
                "realtime/test_servo_faults.py::test_a_servo_that_goes_limp_by_itself_is_not_noticed_and_taken_back_by_off_and_arm",
            ),
        ),
        Row(
            what="limp by itself (overload), Dynamixel and STS: they say so in every answer",
            leg="{servo_refused}",
            log="`servo_refused` with which and *overload*",
            then=(
                "take the cause away; supply off and on (an STS keeps a fifth of its torque until then; assumed); `arm`"
            ),
            tests=(
                "daemon/test_overload.py::test_a_servo_that_shuts_down_in_a_bout_ends_it_limp_and_is_named",
                "drivers/test_feetech_bus.py::test_an_overload_is_said_and_ends_nothing_else",
            ),
        ),
        Row(
            what="at another id from the start",
            leg="as one that is absent",
            log="as one that is absent",
            then="give it its id, or correct the configuration",
            tests=("realtime/test_servo_faults.py::test_a_servo_at_another_id_is_absent_and_can_not_be_driven",),
        ),
        Row(
            what="at another id in the middle of a bout",
            leg=(
                "the others {motor_silent}. **An AI motor or wCK keeps its torque**: it hears nothing that is said "
                "to its old id; the others hear what is said to all. `torque` stays true, and it is `unconfirmed`"
            ),
            log="`motor_silent`, `torque_unconfirmed`; exit status 1",
            then=(
                "cut the supply; or end the daemon, and `nuc bus release URL`, which searches the "
                "bus and releases whoever answers"
            ),
            tests=(
                "realtime/test_servo_faults.py::test_a_servo_that_changes_its_id_in_a_bout_is_said_to_be_under_torque_until_the_bus_is_searched",
            ),
            bound_ms=100,
            trouble="a servo is at another id",
        ),
        Row(
            what="supply lost, and back",
            leg=(
                "no goal is sent after the first cycle without answers; after {motor_silent.after}: {motor_silent}. "
                "Back, it is limp, and stays so until `arm`"
            ),
            log="`reply_missed`, `motor_silent`",
            then="`arm`",
            tests=("realtime/test_servo_faults.py::test_after_the_supply_was_lost_nothing_moves_before_somebody_arms",),
            trouble="the supply is lost",
        ),
        Row(
            what="supply lost for a moment (40 ms), for all servos of a bus",
            leg=(
                "no goal is sent in the meantime; when they answer again, limp from the outage: {bus_silent}, before "
                "any of them is driven. 10 ms cost a reply of some servos, and the bout goes on"
            ),
            log="`reply_missed`, `bus_silent`",
            then="look at supply and plugs; `arm`",
            tests=(
                "realtime/test_servo_faults.py::test_a_supply_that_fails_for_40_ms_leaves_the_leg_limp_and_one_of_10_ms_costs_replies",
                "daemon/test_silence.py::test_an_outage_of_40_ms_takes_the_torque_off_and_nothing_drives_afterwards",
                "daemon/test_silence.py::test_an_outage_of_10_ms_costs_replies_and_not_the_bout",
            ),
            trouble="the supply is lost for 40 ms",
        ),
    ),
    "The disk": (
        Row(
            what="full",
            leg="{logging_failed}",
            log="`logging_failed` with how much waits; `logging` in the status says `failing`",
            then="make room: what waited is written, nothing is lost",
            tests=("realtime/test_disk.py::test_a_disk_that_is_full_for_a_while",),
        ),
        Row(
            what="full for longer than the memory lasts",
            leg="goes on",
            log=(
                "`records_lost`, with how many of which kind; the manifest's `losses`, the input "
                "record and `Infolog.txt` say from when to when"
            ),
            then="make room: logging goes on behind the gap",
            tests=("realtime/test_disk.py::test_a_disk_full_for_longer_than_the_ring_lasts_is_a_counted_loss",),
        ),
        Row(
            what="slow: every write waits for 2 s",
            leg="goes on",
            log="nothing",
            then="nothing: it catches up",
            tests=("realtime/test_disk.py::test_a_disk_that_stalls_for_2_s",),
        ),
        Row(
            what="read-only at the start",
            leg="{logging_failed}",
            log="`logging_failed`",
            then="mount it for writing: the bout is there from its first cycle on",
            tests=("realtime/test_disk.py::test_a_disk_that_refuses_the_first_directory",),
        ),
        Row(
            what="breaks in a bout and stays read-only",
            leg="{logging_failed}",
            log="`logging_failed`; when the daemon ends, `records_lost` with everything that never got to the disk",
            then="stop, end the daemon, repair the disk; `nuc recover DATA`",
            tests=(
                "realtime/test_disk_faults.py::test_a_disk_that_fails_for_good_does_not_stop_the_leg_and_what_is_lost_is_said",
            ),
        ),
    ),
    "The computer": (
        Row(
            what="power cut, or everything killed at once",
            leg="**servos with a supply of their own hold their last goal** until somebody tells them",
            log="nothing can be written",
            then=(
                "`nuc bus release URL` (systemd does it after a daemon that was killed), or start "
                "the daemon: the first it does is take the torque off. `nuc recover DATA` for the "
                "bout: what was flushed is there, all but the last second or so"
            ),
            tests=(
                "realtime/test_crashes.py::test_after_a_power_cut_the_bus_is_released_by_hand_and_the_bout_is_mended",
                "realtime/test_crashes.py::test_a_daemon_begins_beside_a_leg_that_another_left_under_torque",
                "realtime/test_disk.py::test_a_daemon_that_is_killed_as_a_whole_leaves_a_bout_that_recover_mends",
            ),
        ),
        Row(
            what="suspended, and resumed",
            leg=(
                "{suspended}, in the core's first look afterwards (4 ms). While it sleeps, servos hold their last goal"
            ),
            log="`suspended`, with for how long",
            then="keep it awake; `arm`",
            tests=(
                "daemon/test_core.py::test_torque_goes_off_after_the_machine_slept",
                "realtime_setup/test_clock.py::test_a_suspend_is_noticed_once_and_measured",
            ),
        ),
        Row(
            what="stands still as a whole (a virtual machine), or all of the daemon does, and goes on",
            leg=(
                "up to {stood_still.delay} nobody is blamed: goes on, or, where the processes wake up in an order "
                "that looks like a fault, {core_stalled}. After more, in the core's first look (`stood_still`): "
                "{stood_still}. No joint is commanded further than its `--limit` "
                "from where it was last measured"
            ),
            log="nothing, or the fault",
            then="`arm`, if latched",
            tests=(
                "realtime/test_crashes.py::test_a_machine_that_stands_still_as_a_whole_blames_nobody_and_moves_no_joint_further_than_its_limit",
                "daemon/test_core.py::test_a_machine_that_stood_still_as_a_whole_has_not_lost_its_guardian",
                "daemon/test_supervisor.py::test_a_machine_that_stood_still_makes_nobody_late",
                "daemon/test_guardian.py::test_a_late_guardian_counts_what_it_slept_through_once",
            ),
        ),
    ),
    "Clients": (
        Row(
            what="flood of requests, or of rubbish",
            leg="answered as far as the limit goes; answers that are not read are dropped",
            tests=("realtime/test_client_faults.py::test_a_client_that_floods_and_reads_no_answer",),
        ),
        Row(
            what="rubbish",
            leg="each is refused with a reason, and counted",
            tests=("realtime/test_client_faults.py::test_a_client_that_sends_rubbish_is_answered_and_counted",),
        ),
        Row(
            what="half a message, and silence or a closed connection",
            leg="waited for without end, which costs nothing; thrown away with the connection",
            tests=("realtime/test_client_faults.py::test_clients_that_send_half_of_something_and_go_or_stay",),
        ),
        Row(
            what="a message of 50 MB",
            leg="beyond 4 MiB it is not read, and the connection closed",
            tests=("realtime/test_client_faults.py::test_a_message_of_50_mb_ends_its_connection_and_is_not_read",),
        ),
        Row(
            what="asks, and never reads the answers",
            leg="answers are dropped once its queue is full",
            tests=(
                "realtime/test_client_faults.py::test_a_client_that_asks_and_never_reads_is_stopped_by_its_own_full_buffers",
            ),
        ),
        Row(
            what="listens to the telemetry, and never reads it",
            leg="misses what does not fit its queue",
            tests=("realtime/test_client_faults.py::test_a_subscriber_that_never_reads_changes_nothing_for_others",),
        ),
        Row(
            what="vanishes, or hangs, while it has control",
            leg=(
                "loses it after `--control-timeout`; `off` works for every client all the while, "
                "`take_control` with force for those who may"
            ),
            tests=(
                "realtime/test_client_faults.py::test_a_client_that_vanishes_in_control_loses_it_and_anybody_can_stop_the_leg_meanwhile",
            ),
        ),
    ),
}
"""By heading, in the order of the page."""
