// The timeline: curves, candidates, boundaries that can be dragged, phases with their names.

const SVG = "http://www.w3.org/2000/svg";
const CURVES = [["gripper", "gripper"], ["speed", "speed"], ["turning", "turning"], ["score", "boundary score b(t)"]];

export class Timeline {
  constructor(parts, act) {
    Object.assign(this, parts);
    this.act = act;
    for (const [name, words] of CURVES) {
      const item = document.createElement("li");
      item.className = name;
      item.textContent = `— ${words}`;
      this.legend.append(item);
    }
    const more = document.createElement("li");
    more.textContent = "┆ candidate";
    this.legend.append(more);
    this.area.addEventListener("pointerdown", (event) => this.scrub(event));
    this.strip.addEventListener("pointerdown", (event) => this.act.seek(this.frameAt(event)));
  }

  frameAt(event) {
    const box = this.area.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.max(0, Math.min(this.episode.num_frames - 1, Math.round(share * this.episode.num_frames)));
  }

  percent(step) { return `${(100 * step) / this.episode.num_frames}%`; }

  show(episode) {
    this.episode = episode;
    this.curves.setAttribute("viewBox", `0 0 ${Math.max(1, episode.num_frames - 1)} 1`);
    this.curves.replaceChildren(...CURVES.map(([name]) => {
      const line = document.createElementNS(SVG, "polyline");
      line.setAttribute("class", name);
      line.setAttribute("points", episode.curves[name].map((value, at) => `${at},${0.95 - 0.9 * value}`).join(" "));
      return line;
    }));
    this.candidates.replaceChildren(...episode.candidates.map((one) => {
      const mark = document.createElement("i");
      mark.style.left = this.percent(one.step);
      mark.title = `candidate at frame ${one.step}: ${one.why.join(", ")}`;
      return mark;
    }));
  }

  marks(line) {
    this.line = line;
    const focused = document.activeElement?.dataset?.place;
    this.boundaries.replaceChildren(...line.boundaries.map((step, at) => this.handle(step, at)));
    const edges = [0, ...line.boundaries, line.num_frames];
    const colours = new Map();
    this.phases.replaceChildren(...line.names.map((name, at) => {
      if (!colours.has(name)) colours.set(name, colours.size % 8);
      const block = document.createElement("button");
      block.type = "button";
      block.className = `c${colours.get(name)}`;
      block.style.left = this.percent(edges[at]);
      block.style.width = this.percent(edges[at + 1] - edges[at]);
      block.textContent = name;
      block.title = name;
      block.setAttribute("aria-label", `phase ${at + 1}, ${name}, frames ${edges[at]} to ${edges[at + 1] - 1}: rename`);
      block.addEventListener("click", () => { this.act.seek(edges[at]); this.act.name(edges[at]); });
      return block;
    }));
    if (focused !== undefined) this.boundaries.querySelector(`[data-place="${focused}"]`)?.focus();
  }

  handle(step, at) {
    const line = this.line;
    const sure = Math.round(100 * line.confidences[at]);
    const handle = document.createElement("div");
    handle.setAttribute("role", "slider");
    handle.tabIndex = 0;
    handle.dataset.place = at;
    handle.dataset.step = step;
    handle.style.left = this.percent(step);
    handle.classList.toggle("doubtful", line.state !== "verified" && sure < 50);
    handle.classList.toggle("differs", Boolean(line.beside?.only_here.includes(step)));
    handle.title = `frame ${step}, from ${line.sources[at]}, ${sure} % sure`;
    handle.setAttribute("aria-label", `boundary before ${line.names[at + 1]}, from ${line.sources[at]}, ${sure} percent sure`);
    handle.setAttribute("aria-valuenow", step);
    handle.setAttribute("aria-valuemin", (line.boundaries[at - 1] ?? 0) + 1);
    handle.setAttribute("aria-valuemax", (line.boundaries[at + 1] ?? line.num_frames) - 1);
    handle.addEventListener("focus", () => this.act.seek(step));
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault(); event.stopPropagation();
      this.act.nudge(by);
    });
    handle.addEventListener("pointerdown", (event) => this.drag(event, handle, step));
    return handle;
  }

  drag(event, handle, step) {
    event.preventDefault(); event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
    let to = step;
    const least = +handle.getAttribute("aria-valuemin"), most = +handle.getAttribute("aria-valuemax");
    const move = (moved) => {
      to = Math.max(least, Math.min(most, this.frameAt(moved)));
      handle.style.left = this.percent(to);
      this.act.seek(to);
    };
    const end = () => {
      handle.removeEventListener("pointermove", move);
      if (to !== step) this.act.move(step, to);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("pointerup", end, { once: true });
    handle.addEventListener("pointercancel", end, { once: true });
  }

  scrub(event) {
    if (!this.episode) return;
    this.area.setPointerCapture(event.pointerId);
    this.act.seek(this.frameAt(event));
    const move = (moved) => this.act.seek(this.frameAt(moved));
    this.area.addEventListener("pointermove", move);
    const end = () => this.area.removeEventListener("pointermove", move);
    this.area.addEventListener("pointerup", end, { once: true });
    this.area.addEventListener("pointercancel", end, { once: true });
  }

  at(frame) {
    this.head.style.left = this.percent(frame);
    const edges = [0, ...(this.line?.boundaries ?? [])];
    const phase = edges.filter((step) => step <= frame).length - 1;
    [...this.phases.children].forEach((block, at) => {
      if (at === phase) block.setAttribute("aria-current", "true"); else block.removeAttribute("aria-current");
    });
  }
}
