// The second annotator's phases below one's own: differences are marked, counted and jumped to.

const percent = (value) => `${Math.round(100 * value)}\u00a0%`;

export class Beside {
  constructor({ region, row, differences, theirs, words }) {
    Object.assign(this, { region, row, differences, theirs, words });
    this.steps = [];
  }

  show(task, line) {
    const found = line.beside;
    this.region.hidden = !task.beside;
    this.steps = [];
    this.theirs.replaceChildren();
    this.differences.replaceChildren();
    this.row.replaceChildren();
    if (!task.beside) return;
    const { who } = task.beside;
    this.row.setAttribute("aria-label", `Phases by ${who}`);
    if (!found) { this.words.textContent = `${who} has not annotated this demonstration.`; return; }
    const place = (step) => `${(100 * step) / line.num_frames}%`;
    const wide = (from, to) => `${(100 * (to - from)) / line.num_frames}%`;
    const mark = (parent, step, text) => {
      const one = document.createElement("i");
      one.style.left = place(step);
      one.title = text;
      parent.append(one);
      return one;
    };
    for (const step of found.only_there) mark(this.theirs, step, `only ${who} has a boundary at frame ${step}`);
    for (const [from, to] of found.renamed) {
      mark(this.differences, from, `named differently, frames ${from} to ${to - 1}`).style.width = wide(from, to);
    }
    const edges = [0, ...found.boundaries, line.num_frames];
    found.names.forEach((name, at) => {
      const block = document.createElement("li");
      const alone = found.only_there.includes(edges[at]);
      const renamed = found.renamed.some(([from, to]) => from < edges[at + 1] && to > edges[at]);
      block.style.left = place(edges[at]);
      block.style.width = wide(edges[at], edges[at + 1]);
      block.className = alone || renamed ? "differs" : "";
      block.textContent = name;
      block.title = `${who}: ${name}, frames ${edges[at]} to ${edges[at + 1] - 1}`;
      this.row.append(block);
    });
    this.steps = [...new Set([...found.only_here, ...found.only_there, ...found.renamed.map(([from]) => from)])].sort((a, b) => a - b);
    this.words.textContent = this.sentence(who, task.beside, found);
  }

  sentence(who, all, found) {
    if (!found.agreement) return `${who} annotated this demonstration; you have not yet.`;
    const count = this.steps.length;
    const here = `${count === 0 ? "no difference" : count === 1 ? "1 difference" : `${count} differences`} from ${who} here`;
    const { f1, overlap, same_name: names, num_demos: demos, tolerance } = all.agreement;
    const over = demos === 1 ? "in 1 demonstration" : `over ${demos} demonstrations`;
    return `${here} · agreement ${over}: boundaries F1 ${f1.toFixed(2)} (±${tolerance} frames), overlap ${percent(overlap)}, same name ${percent(names)}`;
  }
}
