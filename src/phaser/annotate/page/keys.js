// Every key, what it does in words, and how it reaches the page.

export const KEYS = [
  ["Space", [" "], "play, pause", "play"],
  ["← →", ["ArrowLeft", "ArrowRight"], "one frame back, on (Shift: ten)", "step"],
  ["Home End", ["Home", "End"], "first, last frame", "edge"],
  ["[ ]", ["[", "]"], "boundary before, after", "boundary"],
  ["c C", ["c", "C"], "next candidate, the one before", "candidate"],
  ["b Enter", ["b", "Enter"], "set a boundary here, also while playing", "set"],
  ["Delete", ["Delete", "Backspace"], "delete the nearest boundary", "delete"],
  [", .", [",", "."], "nudge the nearest boundary by one frame", "nudge"],
  ["s", ["s"], "snap the nearest boundary to a candidate", "snap"],
  ["n", ["n", "F2"], "name the phase at hand", "name"],
  ["1 … 9", ["1", "2", "3", "4", "5", "6", "7", "8", "9"], "name it by number, as listed below the timeline", "quick"],
  ["l", ["l"], "play within the phase", "loop"],
  ["m", ["m"], "slow motion", "slow"],
  ["z, y", ["z", "y"], "undo, redo (also Ctrl-Z, Ctrl-Y)", "undo"],
  ["v", ["v"], "verify; the first gives its phases to all others; then the next that needs a look", "verify"],
  ["g", ["g"], "give these phases to all others that nobody has edited or verified", "give"],
  ["V", ["V"], "open a verified demonstration again", "reopen"],
  ["q", ["q"], "ask the model about this demonstration (--verify)", "ask"],
  ["a r", ["a", "r"], "accept, refuse the marked decision of the model", "decide"],
  ["d D", ["d", "D"], "next difference from the second annotator, the one before (--beside)", "difference"],
  ["o", ["o"], "take the second annotator's phases of this demonstration", "takeOver"],
  ["j k", ["j", "k"], "next demonstration, the one before", "episode"],
  ["t T", ["t", "T"], "next task, the one before", "task"],
  ["?", ["?"], "these keys", "help"],
];

const ACTIONS = new Map(KEYS.flatMap(([, keys, , action]) => keys.map((key) => [key, action])));

export function actionOf(event) {
  if (event.ctrlKey || event.metaKey) {
    const key = event.key.toLowerCase();
    if (key === "z") return [event.shiftKey ? "redo" : "undo", "z"];
    return key === "y" ? ["redo", "y"] : [null, ""];
  }
  if (event.altKey) return [null, ""];
  if (event.key === "y" || event.key === "Z") return ["redo", "y"];
  return [ACTIONS.get(event.key) ?? null, event.key];
}
