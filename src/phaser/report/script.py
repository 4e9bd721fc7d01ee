"""The page's only script: tables that sort and filter, matrices that are read by keyboard.

It is part of the page and allowed by its hash; nothing else can run. Without it all numbers are
still there.
"""

from __future__ import annotations

import base64
import hashlib

SCRIPT = """
(() => {
  "use strict";
  const number = (cell) => {
    const text = cell.textContent.trim().replaceAll("\\u2212", "-").replaceAll(",", "");
    const found = text.match(/^[^\\d+-]*([+-]?\\d*\\.?\\d+)/);
    return found ? Number(found[1]) : null;
  };
  const sort = (table, place, head) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows];
    const known = rows.map((row) => [number(row.cells[place]), row.cells[place].textContent, row]);
    const numeric = known.filter((one) => one[0] !== null).length > known.length / 2;
    known.sort((a, b) => {
      if (!numeric) return a[1].localeCompare(b[1]);
      if (a[0] === null || b[0] === null) return (a[0] === null) - (b[0] === null);
      return a[0] - b[0];
    });
    if (!up) known.reverse();
    table.tBodies[0].append(...known.map((one) => one[2]));
  };
  const filterable = (table) => {
    const label = document.createElement("label");
    const field = document.createElement("input");
    field.type = "search";
    label.className = "filter";
    label.append("Filter rows ", field);
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase();
      for (const row of table.tBodies[0].rows)
        row.hidden = !row.textContent.toLowerCase().includes(words);
    });
    table.parentElement.before(label);
  };
  for (const table of document.querySelectorAll("table")) {
    const count = table.tBodies[0].rows.length;
    if (count > 2)
      [...table.tHead.rows[0].cells].forEach((head, place) => {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = head.textContent;
        button.addEventListener("click", () => sort(table, place, head));
        head.replaceChildren(button);
      });
    if (count > 8) filterable(table);
  }
  for (const figure of document.querySelectorAll("figure.matrix")) {
    const cells = [...figure.querySelectorAll("g[data-row]")];
    const said = figure.querySelector("output");
    let here = null;
    const show = (cell) => {
      if (here) here.classList.remove("here");
      here = cell;
      here.classList.add("here");
      const clip = cell.dataset.clip ? " (Enter or click plays its clip)" : "";
      said.textContent = cell.querySelector("title").textContent + clip;
    };
    const play = (cell) => {
      if (cell && cell.dataset.clip) window.open(cell.dataset.clip, "_blank", "noopener");
    };
    const at = (row, column) =>
      cells.find((one) => Number(one.dataset.row) === row && Number(one.dataset.column) === column);
    for (const cell of cells) {
      cell.addEventListener("pointerenter", () => show(cell));
      cell.addEventListener("click", () => play(cell));
    }
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    figure.querySelector("[tabindex]").addEventListener("keydown", (event) => {
      if (event.key === "Enter") play(here);
      const step = steps[event.key];
      if (!step || !cells.length) return;
      event.preventDefault();
      const row = here ? Number(here.dataset.row) + step[0] : 0;
      const column = here ? Number(here.dataset.column) + step[1] : 0;
      const next = at(row, column);
      if (next) show(next);
    });
  }
  const reach = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.closest(".matrix") || box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  reach();
  addEventListener("resize", reach);
})();
"""

HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
"""What the page's security policy names this script by."""
