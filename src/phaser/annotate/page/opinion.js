// The decisions of the vision-language model on the demonstration that is shown.

const WORDS = {
  name: (one) => `call the first phase ${one.name}`,
  accept: (one) => `${one.name} begins at frame ${one.to}, the candidate`,
  relocate: (one) => `${one.name} begins at frame ${one.to}, not at the candidate ${one.step}`,
  insert: (one) => `${one.name} begins at frame ${one.to}, where no candidate is`,
  reject: (one) => `no phase begins at the candidate, frame ${one.step}`,
};
const STATES = { open: "open", agreed: "agreed", refused: "refused" };

export class Opinion {
  constructor({ region, title, list, seek, decide }) {
    Object.assign(this, { region, title, list, seek, decide });
    this.at = 0; this.decisions = [];
  }

  show(line) {
    this.decisions = line.opinion?.decisions ?? [];
    this.region.hidden = !line.opinion;
    if (!line.opinion) { this.list.replaceChildren(); return; }
    this.title.textContent = `Decisions of ${line.opinion.model}`;
    const open = this.decisions.findIndex((one) => one.state === "open");
    if (this.decisions[this.at]?.state !== "open") this.at = open;
    const focused = document.activeElement?.dataset?.decision;
    this.list.replaceChildren(...this.decisions.map((one, number) => this.entry(one, number)));
    if (focused) this.list.querySelector(`[data-decision="${focused}"]`)?.focus();
  }

  entry(one, number) {
    const entry = document.createElement("li"), words = document.createElement("button");
    const reason = document.createElement(one.reason ? "q" : "span"), state = document.createElement("span");
    const choices = document.createElement("span");
    entry.className = one.state;
    if (number === this.at) entry.setAttribute("aria-current", "true");
    words.type = "button";
    words.textContent = WORDS[one.action](one);
    words.dataset.decision = `${number}`;
    words.addEventListener("click", () => { this.at = number; this.mark(); this.seek(one.to); });
    reason.textContent = one.reason;
    state.textContent = STATES[one.state];
    state.className = "state";
    choices.className = "choices";
    choices.append(state);
    entry.append(words, reason, choices);
    for (const [name, text] of one.state === "open" ? [["accept", "Accept"], ["refuse", "Refuse"]] : one.state === "refused" ? [["accept", "Accept"]] : []) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.dataset.decision = `${number}-${name}`;
      button.setAttribute("aria-label", `${text}: ${words.textContent}`);
      button.addEventListener("click", () => this.decide(name, number));
      choices.append(button);
    }
    return entry;
  }

  mark() {
    [...this.list.children].forEach((entry, number) => {
      if (number === this.at) entry.setAttribute("aria-current", "true"); else entry.removeAttribute("aria-current");
    });
  }

  get current() { return this.decisions[this.at] ? this.at : null; }
}
