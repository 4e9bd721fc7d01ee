// The page: which task and demonstration is shown, and what keys and buttons do to it.
import { Beside } from "./beside.js";
import { KEYS, actionOf } from "./keys.js";
import { Opinion } from "./opinion.js";
import { Player } from "./player.js";
import { Refused, change, read } from "./server.js";
import { Timeline } from "./timeline.js";

const $ = (id) => document.getElementById(id);
const LONGEST_PAUSE_S = 60;
let overview = { tasks: [], names: [] }, task = null, episode = null;
let queue = Promise.resolve(), began = performance.now();

const player = new Player({ cameras: $("cameras"), strip: $("strip"), onFrame: shown });
player.onStop = () => { $("play").textContent = "Play"; $("loop").setAttribute("aria-pressed", "false"); };
const timeline = new Timeline({
  area: $("timeline"), curves: $("curves"), candidates: $("candidates"), boundaries: $("boundaries"),
  phases: $("phases"), legend: $("legend"), head: $("head"), strip: $("strip"),
}, {
  seek: (frame) => player.seek(frame),
  move: (step, to) => edit(`boundary from frame ${step} to ${to}`, () => ({ do: "move", step, to })),
  nudge: (by) => DO.nudge(by < 0 ? "," : "."),
  name: (frame) => askName(frame),
});
const beside = new Beside({
  region: $("beside"), row: $("other"), differences: $("differences"), theirs: $("theirs"), words: $("agreement"),
});
const opinion = new Opinion({
  region: $("opinion"), title: $("opinion-title"), list: $("decisions"),
  seek: (frame) => { player.stop(); player.seek(frame); },
  decide: (how, number) => decide(how, number),
});
window.phaserAnnotate = { player };

function line() { return task?.episodes.find((one) => one.episode === episode); }

function shown(frame) {
  timeline.at(frame);
  const marks = line();
  const name = marks?.names[phaseAt(frame)];
  $("where").textContent = `frame ${frame} of ${player.lastFrame}${name ? ` · ${name}` : ""}`;
}

function phaseAt(frame) { return line().boundaries.filter((step) => step <= frame).length; }

function nearest() {
  const steps = line().boundaries;
  if (!steps.length) { say("There is no boundary yet."); return null; }
  return steps.reduce((best, one) => Math.abs(one - player.frame) < Math.abs(best - player.frame) ? one : best);
}

function say(text) { $("saved").textContent = text; }

function seconds() {
  const now = performance.now(), spent = (now - began) / 1000;
  began = now;
  return Math.min(spent, LONGEST_PAUSE_S);
}

function warn(text, choices = []) {
  const banner = $("banner");
  banner.replaceChildren(text);
  for (const [words, chosen] of choices) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = words;
    button.addEventListener("click", () => { banner.hidden = true; chosen(); });
    banner.append(button);
  }
  banner.hidden = false;
}

// Changes are sent one after the other, so that fast keys never overtake each other. What a change
// is made of may depend on the one before, so `make` is asked when its turn comes.
function send(path, make, words) {
  const number = task.number;
  queue = queue.then(async () => {
    const body = task.number === number ? make() : null;
    if (!body) return;
    say("saving …");
    try {
      take(await change(`/api/tasks/${number}/${path}`, { ...body, version: task.version }));
      $("banner").hidden = true;
      say("saved");
    } catch (error) {
      say("not saved");
      if (error instanceof Refused && error.status === 409) {
        take(await read(`/api/tasks/${number}`));
        warn(`This task was changed elsewhere; the page shows that now. Not done: ${words}.`, [
          ["Do it anyway", () => send(path, () => body, words)], ["Leave it", () => say("saved")],
        ]);
      } else if (error instanceof Refused) {
        say("saved");
        warn(`Not done: ${error.message}.`);
      } else {
        warn(`The server does not answer. Not saved: ${words}.`, [["Try again", () => send(path, () => body, words)]]);
      }
      document.body.dataset.refused = words;
    }
  });
  return queue;
}

function edit(words, make) {
  const where = episode;
  return send("edits", () => {
    const body = make();
    return body && { ...body, episode: where, seconds: seconds() };
  }, words);
}

function take(value) {
  task = value;
  if (overview.tasks[task.number]) overview.tasks[task.number] = task.line;
  listTasks();
  listEpisodes();
  if (line()) {
    timeline.marks(line());
    shown(player.frame);
    listNames();
    if (!$("naming").hidden) labelName();
    beside.show(task, line());
    opinion.show(line());
    $("verify").disabled = line().state === "verified";
  }
  for (const which of ["undo", "redo"]) {
    $(which).disabled = !task[which];
    $(which).title = task[which] ? `${which}: ${task[which]}` : "";
  }
}

function decide(how, number) {
  const words = how === "accept-all" ? "accepting all decisions" : `${how} of a decision`;
  const where = episode;
  return send("decisions", () => ({ do: how, phase: number, episode: where, seconds: seconds() }), words).then(() => {
    const next = opinion.decisions[opinion.at];
    if (next) player.seek(next.to);
  });
}

async function askModel() {
  if (!overview.model) { say("no model: start with --verify MODEL"); return; }
  const { number, version } = task, where = episode;
  $("ask").disabled = true;
  say(`asking ${overview.model} …`);
  try {
    const found = await change(`/api/tasks/${number}/opinion`, { do: "ask", episode: where, version });
    // The person may have gone on meanwhile; the answer stays with the demonstration it is about.
    if (task.number === number) take(found);
    say(`${overview.model} has answered about demonstration ${where}`);
  } catch (error) {
    say("saved");
    warn(`No answer: ${error.message}.`);
  } finally { $("ask").disabled = false; }
}

async function writeLeRobot() {
  say("writing …");
  try {
    const { written } = await change("/api/lerobot", {});
    say(written);
  } catch (error) { say("saved"); warn(`Not written: ${error.message}.`); }
}

function item(list, current, text, state, words, chosen) {
  const entry = document.createElement("li"), button = document.createElement("button");
  const name = document.createElement("span"), mark = document.createElement("span");
  button.type = "button";
  name.textContent = text;
  mark.textContent = words;
  mark.className = `state ${state}`;
  button.append(name, mark);
  if (current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", chosen);
  entry.append(button);
  list.append(entry);
}

function listTasks() {
  $("tasks").replaceChildren();
  overview.tasks.forEach((one, number) => {
    const words = one.state === "untouched" ? "untouched" : `${one.state} ${one.num_verified}/${one.num_demos}`;
    item($("tasks"), task?.number === number, one.name, one.state, words, () => openTask(number));
  });
}

function listEpisodes() {
  $("episodes").replaceChildren();
  for (const one of task.episodes) {
    const state = one.look ? "look" : one.state;
    item($("episodes"), one.episode === episode, `${one.episode}`, state,
      one.look ? "candidate, look" : one.state, () => openEpisode(one.episode));
  }
}

function listNames() {
  const own = [...new Set(task.episodes.flatMap((one) => one.names))].filter((name) => !name.startsWith("unnamed"));
  const all = [...new Set([...own, ...overview.names])];
  $("names").replaceChildren(...all.map((name) => { const one = document.createElement("option"); one.value = name; return one; }));
  quick = all.slice(0, 9);
  $("quick").replaceChildren(...quick.map((name, at) => {
    const one = document.createElement("li"), key = document.createElement("kbd");
    key.textContent = at + 1;
    one.append(key, ` ${name}`);
    return one;
  }));
}
let quick = [];

async function openTask(number) {
  if (number < 0 || number >= overview.tasks.length) return;
  say("loading …");
  try {
    await queue;
    task = await read(`/api/tasks/${number}`);
    if (task.episodes.every((one) => one.state === "untouched")) {
      task = await change(`/api/tasks/${number}/proposal`, { version: task.version });
    }
  } catch (error) { warn(`The task cannot be opened: ${error.message}.`); return; }
  episode = null;
  began = performance.now();
  $("instruction").textContent = task.instruction || task.name;
  await openEpisode((task.episodes.find((one) => one.state !== "verified") ?? task.episodes[0]).episode);
}

async function openEpisode(number) {
  const found = await read(`/api/tasks/${task.number}/episodes/${number}`);
  episode = number;
  $("empty").hidden = true;
  $("editor").hidden = false;
  timeline.show(found);
  player.show(task.number, found);
  take(task);
  closeName();
  say("saved");
  document.body.dataset.shown = `${task.number}/${episode}`;
}

function nextEpisode(by) {
  const at = task.episodes.findIndex((one) => one.episode === episode);
  const next = task.episodes[at + by];
  if (next) openEpisode(next.episode);
}

function afterVerify() {
  const open = task.episodes.filter((one) => one.state !== "verified");
  const next = open.find((one) => one.look) ?? open[0];
  if (next) return openEpisode(next.episode);
  say("saved; every demonstration of this task is verified");
}

// The frame whose phase is being named, not its number: a boundary set just before may still be on
// its way, and shifts the numbers.
let naming = null;
function askName(frame) {
  naming = frame;
  $("naming").hidden = false;
  labelName();
  const name = line().names[phaseAt(frame)] ?? "";
  $("name").value = name.startsWith("unnamed") ? "" : name;
  $("name").focus();
  $("name").select();
}
function labelName() { $("name-label").textContent = `Name of phase ${phaseAt(naming) + 1}`; }
function closeName() {
  if ($("naming").hidden) return;
  $("naming").hidden = true;
  $("timeline-region").focus({ preventScroll: true });
}

const DO = {
  play: () => { if (player.playing) player.stop(); else { player.play(); $("play").textContent = "Pause"; } },
  step: (key, event) => { player.stop(); player.seek(player.frame + (key === "ArrowLeft" ? -1 : 1) * (event.shiftKey ? 10 : 1)); },
  edge: (key) => { player.stop(); player.seek(key === "Home" ? 0 : player.lastFrame); },
  boundary: (key) => jump(line().boundaries, key === "]"),
  candidate: (key) => jump(player.episode.candidates.map((one) => one.step), key === "c"),
  set: () => { const step = player.frame; edit(`boundary at frame ${step}`, () => ({ do: "set", step })); },
  delete: () => edit("deleting a boundary", () => { const step = nearest(); return step === null ? null : { do: "delete", step }; }),
  nudge: (key) => { player.stop(); moveNearest("nudge", key === "," ? -1 : 1); },
  snap: () => { player.stop(); moveNearest("snap", 0); },
  name: () => askName(player.frame),
  quick: (key) => {
    const name = quick[key - 1], frame = player.frame;
    if (name) edit(`the name ${name}`, () => ({ do: "name", phase: phaseAt(frame), name }));
  },
  loop: () => {
    if (player.span) { player.stop(); return; }
    const edges = [0, ...line().boundaries, line().num_frames], at = phaseAt(player.frame);
    player.play([edges[at], edges[at + 1]]);
    $("play").textContent = "Pause";
    $("loop").setAttribute("aria-pressed", "true");
  },
  slow: () => { player.slow = !player.slow; $("slow").setAttribute("aria-pressed", `${player.slow}`); },
  undo: () => send("undo", () => ({}), "undo"),
  redo: () => send("redo", () => ({}), "redo"),
  verify: () => edit("verify", () => ({ do: "verify" })).then(() => { if (line().state === "verified") return afterVerify(); }),
  give: () => edit("giving the phases to the others", () => ({ do: "give" })),
  reopen: () => edit("opening it again", () => ({ do: "reopen" })),
  ask: () => askModel(),
  decide: (key) => { if (opinion.current !== null) decide(key === "a" ? "accept" : "refuse", opinion.current); },
  difference: (key) => jump(beside.steps, key === "d"),
  takeOver: () => { if (task.beside) { const where = episode; send("beside", () => ({ do: "take over", episode: where, seconds: seconds() }), "taking over"); } },
  episode: (key) => nextEpisode(key === "j" ? 1 : -1),
  task: (key) => openTask((task ? task.number : -1) + (key === "t" ? 1 : -1)),
  help: () => { if (!$("help").open) $("help").showModal(); },
};

function moveNearest(how, by) {
  let place = -1;
  edit(`${how} of a boundary`, () => {
    const step = nearest();
    place = line().boundaries.indexOf(step);
    return step === null ? null : { do: how, step, to: by };
  }).then(() => { if (place >= 0) player.seek(line().boundaries[place]); });
}

function jump(steps, onwards) {
  player.stop();
  const sorted = [...steps].sort((a, b) => a - b);
  const found = onwards ? sorted.find((one) => one > player.frame) : sorted.reverse().find((one) => one < player.frame);
  if (found !== undefined) player.seek(found); else say(`nothing ${onwards ? "after" : "before"} this frame`);
}

function act(action, key, event) {
  if (!task && !["task", "help"].includes(action)) return;
  DO[action](key, event);
}

document.addEventListener("keydown", (event) => {
  if ($("help").open || event.target.closest("input, select, textarea")) return;
  if ([" ", "Enter"].includes(event.key) && event.target.closest("button, a")) return;
  const [action, key] = actionOf(event);
  if (!action) return;
  event.preventDefault();
  act(action, key, event);
});
document.querySelectorAll("[data-key]").forEach((button) => button.addEventListener("click", (event) => {
  const [action, key] = actionOf({ key: button.dataset.key });
  act(action, key, event);
}));
$("accept-all").addEventListener("click", () => decide("accept-all", 0));
$("lerobot").addEventListener("click", writeLeRobot);
$("help-button").addEventListener("click", () => DO.help());
$("naming").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("name").value.trim();
  const frame = naming;
  if (name) edit(`the name ${name}`, () => {
    const phase = phaseAt(frame);
    return line().names[phase] === name ? null : { do: "name", phase, name };
  });
  closeName();
});
$("name-cancel").addEventListener("click", closeName);
$("name").addEventListener("keydown", (event) => { if (event.key === "Escape") closeName(); });

for (const [shownKeys, , words] of KEYS) {
  const row = document.createElement("tr"), key = document.createElement("th"), cell = document.createElement("td");
  const kbd = document.createElement("kbd");
  key.scope = "row";
  kbd.textContent = shownKeys;
  key.append(kbd);
  cell.textContent = words;
  row.append(key, cell);
  $("help-rows").append(row);
}

overview = await read("/api/tasks");
listTasks();
$("ask").hidden = !overview.model;
$("lerobot").hidden = !overview.lerobot;
$("lerobot").title = overview.lerobot ? `a copy of the dataset into ${overview.lerobot}` : "";
say(`${overview.tasks.length} tasks · ${overview.file}`);
document.body.dataset.ready = "yes";
