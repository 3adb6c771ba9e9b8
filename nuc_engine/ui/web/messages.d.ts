// Messages of the channel. Made by `python -m nuc_engine.messages.typescript` from the classes in nuc_engine/messages:
// change those, not this.

/** What became of an edit. `pending` is a request number while it waits for its time, 0 once it is in effect. `cycle` and `time_s` are when it took effect. `replaced` is what a later entry of the same time wrote again. A script of several times is as many requests; what of it is not yet due is in `requests`. `back` is the request that puts back what was set for a while only; withdrawn (`forget`), the values stay. */
export interface Acknowledgement {
  cycle: number;
  time_s: number | null;
  applied: Written[];
  refused: NotWritten[];
  pending?: number;
  requests?: number[];
  replaced?: Written[];
  request?: number;
  back?: number;
  answers?: Record<string, any>[];
}

/** Whether anything may drive. */
export interface ArmAnswer {
  mode: string;
  latched: boolean;
}

/** Allow driving again after a fault, or after `off`: the joints start from where they are. */
export interface ArmRequest {
}

/** Ask for the files of a bout's data directory. */
export interface BoutFilesRequest {
  bout: string;
}

/** Ask which bouts lie in the daemon's data folder, newest first. */
export interface BoutsRequest {
}

/** One part of an edit: `write` of an HDSO; `mode`, `target`, `rate`, `tweak` of a joint; `sense` of a sensor. */
export interface ChangedValue {
  after: string | number | boolean | number[] | null;
  before: string | number | boolean | number[] | null;
  name: string;
  what: string;
}

/** A configuration that can be chosen, or cannot because of a `problem`. */
export interface ConfigurationAnswer {
  name: string;
  fullname?: string;
  description?: string;
  problem?: string;
}

/** Ask which configurations can be chosen. */
export interface ConfigurationsRequest {
}

/** Choose a configuration, or send one: `documents` are texts by file name (joints.xml, ...). Answered once a core runs the model. */
export interface ConfigureRequest {
  name: string;
  documents?: Record<string, string> | null;
}

/** What is in force now. */
export interface ConfiguredAnswer {
  name: string;
  warnings: string[];
}

/** One client of the daemon; `rubbish` and `too_fast` count its messages that were none, or too many. */
export interface Connected {
  in_control?: boolean;
  name?: string;
  role?: string;
  rubbish?: number;
  silent_s?: number;
  too_fast?: number;
  verified?: boolean;
}

/** Who has control now, or nobody. */
export interface ControlAnswer {
  control: string;
}

/** Ask for the XML texts of the configuration in force, or of one that can be chosen. */
export interface DocumentsRequest {
  name?: string | null;
}

/** Ask for the last events, or for those after the one with this number (`seq`). */
export interface EventsRequest {
  since?: number;
}

/** Ask for a piece of a file of a bout's data directory: at most 512 KiB from `offset` on. */
export interface FetchRequest {
  bout: string;
  file: string;
  offset?: number;
}

/** A piece of a file, and how many bytes the file has in all now. */
export interface FilePart {
  data: string;
  size: number;
}

/** Withdraw an edit that waits for its time, or all of them. */
export interface ForgetRequest {
  request: number | "all";
}

/** How many edits were withdrawn. */
export interface ForgottenAnswer {
  forgotten: number;
}

/** What is wrong with a document: on which line of which file, what was expected instead, what to do about it. */
export interface FoundProblem {
  expected: string;
  file: string;
  hint: string;
  line: number;
  severity: string;
  what: string;
}

/** Ask for values by name or id, all of the same whole cycle; the id -1 stands for every HDSO. */
export interface GetRequest {
  names: (number | string)[];
}

/** Who is there, what it runs, and as whom one is known to it. */
export interface Greeting {
  engine: string;
  configuration: string;
  mode: string;
  author: string;
  verified: boolean;
  control: string;
  name?: string;
  role?: string;
}

/** Give control to another client. */
export interface HandOverRequest {
  to: string;
}

/** Say who one is; `role` asks for less than one is allowed. */
export interface HelloRequest {
  name: string;
  role?: "admin" | "operate" | "watch" | null;
}

/** Edits that can be undone, and those that can be made again: the newest first, in the order of their turn. */
export interface HistoryAnswer {
  done: HistoryEdit[];
  undone: HistoryEdit[];
}

/** An edit that took effect; `time_s` is null outside of the bout under way. Of one with many changes the first are told, and how many are `left_out`. */
export interface HistoryEdit {
  author: string;
  changes: ChangedValue[];
  cycle: number;
  left_out: number;
  request: number;
  time_s: number | null;
}

/** Ask which edits can be undone and made again, and whose they are. */
export interface HistoryRequest {
}

/** Choose what commands a joint: its muscles, a force, a position; it can hold where it is, or be limp. */
export interface JointModeRequest {
  joint: number | string;
  mode: "force" | "hold" | "limp" | "muscle" | "position";
}

/** Keep all values in force under a name, until another configuration is put in force or the service dies. */
export interface KeepValuesRequest {
  name: string;
}

/** Values that were kept under a name, and the HDSOs that have others now. */
export interface KeptAnswer {
  name: string;
  author: string;
  unix_time_s: number;
  differing: string[];
}

/** Ask under which names values are kept. */
export interface KeptValuesRequest {
}

/** The labels as they are kept. */
export interface LabelsAnswer {
  labels: Record<string, string>;
}

/** Label this bout and those that follow, until they are given anew: operator, leg, surface, body_height, ... */
export interface LabelsRequest {
  labels: Record<string, string>;
}

/** Say goodbye: control is given back, and the client is no longer listed. Clients send it when they are closed. */
export interface LeaveRequest {
}

/** Log from engine time `start_s` to `stop_s` (without: until `stoplog`), to a directory named `out`. For `--log command`. */
export interface LogRequest {
  start_s?: number;
  stop_s?: number | null;
  out?: string | null;
}

/** When the mark was made. */
export interface MarkAnswer {
  time_s: number | null;
}

/** Log this text with the time and one's name. */
export interface MarkRequest {
  text: string;
}

/** Ask for the model in force, explained: joints, muscles, states, rules, HDSOs. */
export interface ModelRequest {
}

/** Nothing but that it was done. */
export interface NoAnswer {
}

/** What was not written, and why. */
export interface NotWritten {
  name: string;
  reason: string;
}

/** The note as it is kept. */
export interface NotesAnswer {
  text: string;
}

/** Add a note to the bout's data directory. */
export interface NotesRequest {
  text: string;
}

/** Whether the torque is off, how long after the request each motor confirmed it, and those that have not. */
export interface OffAnswer {
  mode: string;
  torque: boolean;
  unconfirmed: string[];
  confirmed_ms?: Record<string, number>;
}

/** Take the torque off at once, latched until `arm`. Any client may, with or without control. */
export interface OffRequest {
  why?: string;
}

/** The pose of the stop policy `park`. */
export interface ParkAnswer {
  angles: Record<string, number>;
  rate_deg_s: number;
}

/** Choose the pose that a stop with the policy `park` moves to: angles, or a pose that was saved. Without a rate, at 20 degrees a second. */
export interface ParkRequest {
  angles?: Record<string, number> | null;
  name?: string | null;
  rate_deg_s?: number | null;
}

/** An edit that waits for its time. */
export interface Pending {
  author: string;
  names: string[];
  request: number;
  time_s: number;
}

/** Ask which edits wait for their time. */
export interface PendingRequest {
}

/** A pose that was saved, and where. */
export interface PoseAnswer {
  name: string;
  angles: Record<string, number>;
  path: string;
}

/** Move joints slowly: to these angles (joint to degrees), or to a pose that was saved. They move on their own. With `merge`, the number of one's last edit that took effect, both are undone as one. */
export interface PoseRequest {
  angles?: Record<string, number> | null;
  rate_deg_s?: number | null;
  name?: string | null;
  merge?: number;
}

/** Save the pose the leg is in. */
export interface PoseSaveRequest {
  name: string;
}

/** Ask for the poses that were saved for this configuration. */
export interface PosesRequest {
}

/** Values of one whole cycle; a name the daemon does not know is in `unknown`, not in `values`. */
export interface Reading {
  values: Record<string, string | number | boolean | number[] | null>;
  cycle: number;
  time_s: number | null;
  unknown?: string[];
}

/** Write the values that were kept under a name, together, as one edit; those that are the same are left alone. */
export interface RecallValuesRequest {
  name: string;
}

/** Begin to write down every edit that takes effect, with its time. */
export interface RecordStartRequest {
  name: string;
}

/** End it; answers with the hdsoscript's path. */
export interface RecordStopRequest {
  overwrite?: boolean;
}

/** Where a recording was written, how many writes are in it, and how many edits a script cannot say. */
export interface RecordedAnswer {
  path: string;
  writes: number;
  left_out: number;
}

/** What the recording is called. */
export interface RecordingAnswer {
  name: string;
}

/** Make the edit again that was undone last. */
export interface RedoRequest {
}

/** Give control back; no client has it then. */
export interface ReleaseControlRequest {
}

/** The entry rule of an action, taken apart, with the values of one cycle; `inside`: the joint does that now. */
export interface RuleAnswer {
  joint: string;
  action: string;
  inside: boolean;
  rule: string;
  text: string;
  true: boolean | null;
  comparisons: RuleComparison[];
}

/** One comparison of a rule; `op` and `right` are empty where an operand stands alone. `distance` is how far the left one is from where the comparison turns, positive while it is true. */
export interface RuleComparison {
  distance: number | null;
  left: string;
  left_value: string | number | boolean | number[] | null;
  op: string;
  right: string;
  right_value: string | number | boolean | number[] | null;
  true: boolean | null;
}

/** Ask for every entry rule, or those of one joint, taken apart: which comparisons are true, and how nearly. */
export interface RulesRequest {
  joint?: number | string | null;
}

/** Begin a bout after `delay_s`; it stops by itself at engine time `stop_s` (negative: not). `out` names its directory in the daemon's data folder; one that exists is refused. `labels` and `notes` are of this bout alone. */
export interface RunRequest {
  delay_s?: number;
  stop_s?: number | null;
  labels?: Record<string, string> | null;
  notes?: string | null;
  out?: string | null;
}

/** Write the values in force as a configuration or as an hdsoscript; answers with where. */
export interface SaveRequest {
  name: string;
  kind?: "configuration" | "script";
  description?: string | null;
  overwrite?: boolean;
}

/** Where the values in force were written. */
export interface SavedAnswer {
  path: string;
  kind: string;
}

/** An hdsoscript that lies beside the daemon. */
export interface ScriptAnswer {
  name: string;
  description: string;
  duration_s: number | null;
  problem?: string;
}

/** Send an hdsoscript; its times count from the bout's start, or from now. One that changes something needs the role operate, and control. Gradual changes begin from the values at its arrival; what is done to a leg by hand is refused. `answers` are to requests of time 0. */
export interface ScriptRequest {
  text: string;
  offset?: "now" | "start";
}

/** An hdsoscript as it is written. */
export interface ScriptTextAnswer {
  name: string;
  text: string;
}

/** Ask for the text of one of them. */
export interface ScriptTextRequest {
  name: string;
}

/** Ask which hdsoscripts lie beside the daemon. */
export interface ScriptsRequest {
}

/** Say what is sensed of a sensor: this number, what is sensed now (`hold`), or what is measured (`off`). Logged. */
export interface SenseRequest {
  sensor: number | string;
  value: number | "hold" | "off";
}

/** Write values; they take effect together, at once or at engine time `time_s`. With `back_after_s`, in a bout, they are what they were before once so much engine time has gone by, or the bout has ended. With `merge`, the number of one's last edit that took effect, both are undone as one. */
export interface SetRequest {
  changes: ([number | string, number | string | number[]])[];
  time_s?: number | null;
  back_after_s?: number | null;
  merge?: number;
}

/** The mode in which the daemon begins to end. */
export interface ShutdownAnswer {
  mode: string;
}

/** End the daemon: a commanded stop, torque off, data flushed. */
export interface ShutdownRequest {
}

/** A bout that was begun; `folder` is empty where nothing is logged yet. */
export interface Started {
  bout: number;
  folder: string;
}

/** How the daemon is. `bout` 0: none; `control` empty: nobody has it; `data` is the whole answer. `latched`: nothing drives before `arm`, since there was a fault (mode FAULT) or somebody asked for it (`latch_reason` is "off"). `refusals` say which servos cannot be driven as they were given, and why; `bus_counts` is what went wrong on the buses since the core began, by names as in `drivers.bus.COUNTS`. `edits` counts those that took effect, undoing too. `clamps` are sensors that are sensed as another number than is measured, and as which. `unix_time_s` is the daemon's clock, which stamps telemetry and events too; 0: not told. */
export interface Status {
  mode: string;
  configuration?: string;
  ready?: boolean;
  bout?: number;
  engine_time_s?: number | null;
  cycle?: number;
  torque?: boolean;
  latched?: boolean;
  latch_reason?: string;
  unconfirmed?: string[];
  refusals?: string[];
  bus_counts?: Record<string, number>;
  bus_lost?: boolean;
  buses?: Record<string, string>;
  control?: string;
  clients?: Connected[];
  losses?: Record<string, number>;
  rings?: Record<string, Record<string, number>>;
  connections?: Record<string, number>;
  logging?: Record<string, any>;
  deaths?: Record<string, number>;
  edits_refused?: number;
  latches?: number;
  guardian_acts?: number;
  recording?: string;
  undo?: number;
  redo?: number;
  edits?: number;
  privileges_missing?: string[];
  clamps?: Record<string, number>;
  tasks?: Record<string, Record<string, any>>;
  unix_time_s?: number;
}

/** Ask how the daemon is. */
export interface StatusRequest {
}

/** End the bout; without a policy, as the daemon was told to when it was started. */
export interface StopRequest {
  policy?: "hold" | "off" | "park" | null;
}

/** End what `log` began, at once or at engine time `stop_s`. */
export interface StoplogRequest {
  stop_s?: number | null;
}

/** A bout that has ended. */
export interface StoppedAnswer {
  bout: number;
  mode: string;
  policy: string;
}

/** Write documents as a configuration that can be chosen; what could not be loaded is refused. */
export interface StoreConfigurationRequest {
  name: string;
  documents: Record<string, string>;
  overwrite?: boolean;
}

/** Write an hdsoscript beside the daemon, as it is; one that the model in force could not carry out is refused. */
export interface StoreScriptRequest {
  name: string;
  text: string;
  overwrite?: boolean;
}

/** A bout's data directory. `state` is its manifest's: running, complete, interrupted, fault or torn. */
export interface StoredBout {
  name: string;
  configuration: string;
  script: string;
  started: string;
  duration_s: number | null;
  state: string;
  labels: Record<string, string>;
  problem: string;
}

/** A file of a bout's data directory; `name` is its path in there, `size` is in bytes. */
export interface StoredFile {
  name: string;
  size: number;
}

/** The stream that has ended. */
export interface StreamAnswer {
  topic: string;
}

/** What was subscribed to: the topic its messages carry, and where. */
export interface SubscribeAnswer {
  topic: string;
  fields: Record<string, Record<string, any> | string>;
  rate_hz?: number;
  address?: string;
}

/** Ask for a stream of values; `Client.subscribe` also opens it. */
export interface SubscribeRequest {
  names: (number | string)[];
  rate_hz?: number;
}

/** Ask for control; with `force` also from somebody who has it. */
export interface TakeControlRequest {
  force?: boolean;
}

/** Ask for period, lateness, execution time and overruns of every task. */
export interface TasksRequest {
}

/** Add a torque to what a joint's muscles ask for, in raw ticks of its servo; 0 ends it. Logged. */
export interface TweakRequest {
  joint: number | string;
  ticks: number;
}

/** Take back the last edit that took effect, whoever made it. */
export interface UndoRequest {
}

/** End a stream. */
export interface UnsubscribeRequest {
  topic: string;
}

/** Ask what is wrong with a configuration (`documents`), or with an hdsoscript (`text`) for it, without loading it. An hdsoscript without documents is held against the model in force. */
export interface ValidateRequest {
  text?: string | null;
  documents?: Record<string, string> | null;
}

/** A value that is in force now. */
export interface Written {
  name: string;
  value: string | number | boolean | number[] | null;
}

export interface Params {
  hello: HelloRequest;
  status: StatusRequest;
  tasks: TasksRequest;
  configurations: ConfigurationsRequest;
  configure: ConfigureRequest;
  documents: DocumentsRequest;
  store_configuration: StoreConfigurationRequest;
  validate: ValidateRequest;
  model: ModelRequest;
  run: RunRequest;
  stop: StopRequest;
  arm: ArmRequest;
  off: OffRequest;
  log: LogRequest;
  stoplog: StoplogRequest;
  get: GetRequest;
  set: SetRequest;
  script: ScriptRequest;
  scripts: ScriptsRequest;
  script_text: ScriptTextRequest;
  store_script: StoreScriptRequest;
  pending: PendingRequest;
  forget: ForgetRequest;
  undo: UndoRequest;
  redo: RedoRequest;
  history: HistoryRequest;
  keep_values: KeepValuesRequest;
  kept_values: KeptValuesRequest;
  recall_values: RecallValuesRequest;
  rules: RulesRequest;
  joint_mode: JointModeRequest;
  tweak: TweakRequest;
  sense: SenseRequest;
  pose: PoseRequest;
  park: ParkRequest;
  pose_save: PoseSaveRequest;
  poses: PosesRequest;
  save: SaveRequest;
  record_start: RecordStartRequest;
  record_stop: RecordStopRequest;
  mark: MarkRequest;
  notes: NotesRequest;
  labels: LabelsRequest;
  bouts: BoutsRequest;
  bout_files: BoutFilesRequest;
  fetch: FetchRequest;
  subscribe: SubscribeRequest;
  unsubscribe: UnsubscribeRequest;
  events: EventsRequest;
  take_control: TakeControlRequest;
  hand_over: HandOverRequest;
  release_control: ReleaseControlRequest;
  leave: LeaveRequest;
  shutdown: ShutdownRequest;
}

export interface Results {
  hello: Greeting;
  status: Status;
  tasks: Record<string, Record<string, any>>;
  configurations: ConfigurationAnswer[];
  configure: ConfiguredAnswer;
  documents: Record<string, string>;
  store_configuration: SavedAnswer;
  validate: FoundProblem[];
  model: Record<string, any>;
  run: Started;
  stop: StoppedAnswer;
  arm: ArmAnswer;
  off: OffAnswer;
  log: Record<string, any>;
  stoplog: Record<string, any>;
  get: Reading;
  set: Acknowledgement;
  script: Acknowledgement;
  scripts: ScriptAnswer[];
  script_text: ScriptTextAnswer;
  store_script: SavedAnswer;
  pending: Pending[];
  forget: ForgottenAnswer;
  undo: Acknowledgement;
  redo: Acknowledgement;
  history: HistoryAnswer;
  keep_values: KeptAnswer;
  kept_values: KeptAnswer[];
  recall_values: Acknowledgement;
  rules: RuleAnswer[];
  joint_mode: Acknowledgement;
  tweak: Acknowledgement;
  sense: Acknowledgement;
  pose: Acknowledgement;
  park: ParkAnswer;
  pose_save: PoseAnswer;
  poses: Record<string, Record<string, number>>;
  save: SavedAnswer;
  record_start: RecordingAnswer;
  record_stop: RecordedAnswer;
  mark: MarkAnswer;
  notes: NotesAnswer;
  labels: LabelsAnswer;
  bouts: StoredBout[];
  bout_files: StoredFile[];
  fetch: FilePart;
  subscribe: SubscribeAnswer;
  unsubscribe: StreamAnswer;
  events: Record<string, any>[];
  take_control: ControlAnswer;
  hand_over: ControlAnswer;
  release_control: ControlAnswer;
  leave: NoAnswer;
  shutdown: ShutdownAnswer;
}
