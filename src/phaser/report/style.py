"""The look of the page: light and dark, readable on paper and on a telephone."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #56606b; --paper: #ffffff;
  --line: #dfe3e8; --wash: #f5f7f9; --accent: #00548c; --focus: #b34700; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a9b1bb; --paper: #14171b;
  --line: #30363d; --wash: #1c2127; --accent: #6db3e8; --focus: #ff9a57; }
  svg [fill="#00548c"], svg [stroke="#00548c"], .whisker[style*="#00548c"],
  svg [fill="#6a4c93"], svg [stroke="#6a4c93"], .whisker[style*="#6a4c93"]
    { filter: brightness(1.9); } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 80px; }
a { color: var(--accent); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 18px; }
h1 { font-size: 25px; line-height: 1.35; font-weight: 650; margin: 6px 0 12px; max-width: 40em;
  text-wrap: pretty; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 46px 0 4px; }
h3 { font-size: 16px; margin: 28px 0 4px; }
p { overflow-wrap: anywhere; }
.kicker { margin: 0; color: var(--accent); font-weight: 600; }
.lead { color: var(--soft); max-width: 68em; margin: 4px 0 16px; }
.statement { border-left: 4px solid #009e73; background: var(--wash); padding: 10px 14px; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { padding: 6px 12px; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; color: var(--soft); font-size: 13px; vertical-align: bottom; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
  cursor: pointer; text-align: inherit; }
th button::after { content: " \\2195"; opacity: 0.55; }
th[aria-sort=ascending] button::after { content: " \\2191"; opacity: 1; }
th[aria-sort=descending] button::after { content: " \\2193"; opacity: 1; }
th:first-child, td:first-child, td:nth-child(2):last-child, th:nth-child(2):last-child
  { text-align: left; }
td:nth-child(2):last-child { white-space: normal; overflow-wrap: anywhere; }
tr.strong td { font-weight: 650; background: var(--wash); }
td small { display: block; white-space: normal; color: var(--soft); max-width: 22em;
  min-width: 9em; }
td img { display: block; width: 64px; height: 64px; object-fit: cover; border-radius: 4px; }
.filter { display: block; margin: 10px 0 0; color: var(--soft); font-size: 13.5px; }
.filter input { font: inherit; margin-left: 6px; padding: 3px 8px; border-radius: 5px;
  border: 1px solid var(--soft); background: var(--paper); color: var(--ink); max-width: 60vw; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; font-size: 13.5px;
  color: var(--soft); margin: 12px 0; }
dt { font-weight: 600; color: var(--ink); } dd { margin: 0; overflow-wrap: anywhere; }
figure { margin: 0; max-width: 100%; } figcaption { margin: 0 0 2px; overflow-wrap: anywhere; }
.matrix output { display: block; min-height: 3em; font-size: 13px; color: var(--soft);
  max-width: 330px; overflow-wrap: anywhere; }
.matrix img { image-rendering: pixelated; width: 320px; max-width: 100%; }
.side-by-side { display: flex; flex-wrap: wrap; gap: 22px 18px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, 214px); gap: 18px 42px; }
.grid figcaption { font-size: 13px; font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 14px; }
.legend svg { margin-right: 6px; vertical-align: -2px; }
.forest { display: grid; grid-template-columns: minmax(60px, max-content) 1fr max-content;
  gap: 0 12px; align-items: center; max-width: 860px; margin: 14px 0; }
.forest .track { position: relative; height: 30px; margin: 0 8px;
  background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / 25% 100%;
  border-right: 1px solid var(--line); }
.forest .track > * { position: absolute; top: 50%; transform: translate(-50%, -50%); }
.forest .whisker { height: 3px; border-radius: 2px; transform: translate(0, -50%); opacity: 0.6; }
.forest .axis span { white-space: nowrap; }
.forest .axis { height: 18px; background: none; border: 0; font-size: 12px; color: var(--soft); }
.forest .name { overflow-wrap: anywhere; } .forest .value { font-variant-numeric: tabular-nums; }
.grow svg { width: 100%; max-width: 560px; height: auto; }
.patterns { position: absolute; }
svg { max-width: none; vertical-align: middle; } svg text { font-family: inherit; }
svg .name { fill: var(--ink); font-size: 13px; }
svg .tick { fill: var(--soft); font-size: 11px; }
svg .cell { font-size: 9.5px; font-weight: 600; pointer-events: none; }
svg .small { font-size: 9px; }
svg .rule { stroke: var(--line); }
svg .spread { stroke: var(--ink); stroke-width: 1.2; }
svg .hatch { stroke: var(--soft); stroke-width: 0.8; opacity: 0.6; }
svg .blank { stroke: var(--line); }
svg .few { stroke: var(--focus); stroke-width: 1.6; stroke-dasharray: 2 2; }
svg .here rect { stroke: var(--focus); stroke-width: 2.5; stroke-dasharray: none; }
svg [data-clip] { cursor: pointer; }
pre { background: var(--wash); padding: 14px; overflow-x: auto; border-radius: 6px;
  font-size: 13px; max-height: 22em; white-space: pre-wrap; overflow-wrap: anywhere; }
details { margin: 12px 0; } summary { cursor: pointer; color: var(--soft); }
@media (max-width: 640px) { main { padding: 20px 16px 60px; } h1 { font-size: 20px; }
  th, td { padding: 5px 8px; } dl { grid-template-columns: 1fr; } dd { margin-bottom: 6px; }
  .grid { grid-template-columns: repeat(auto-fill, minmax(214px, 1fr)); } }
@page { margin: 12mm; }
@media print { :root { --ink: #000000; --soft: #444444; --paper: #ffffff; --line: #cccccc;
    --wash: #f2f2f2; --accent: #00548c; --focus: #000000; }
  body { font-size: 9.5pt; } main { padding: 0; max-width: none; }
  h2, h3, figcaption { break-after: avoid; } figure, tr { break-inside: avoid; }
  .scroll { overflow: visible; } .filter, .matrix output { display: none; }
  th button::after { content: ""; }
  table { font-size: 7.5pt; width: 100%; } th { font-size: 7.5pt; }
  th, td { white-space: normal; padding: 2px 4px; overflow-wrap: anywhere; }
  td small { min-width: 0; } td img { width: 40px; height: 40px; }
  svg[role=img] { max-width: 100%; height: auto; } pre { max-height: none; font-size: 7.5pt; } }
"""
