"""The look of the page: light and dark, readable on paper and on a telephone."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #5c6570; --paper: #ffffff;
  --line: #dfe3e8; --wash: #f5f7f9; --accent: #d55e00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8eaed; --soft: #a0a8b2; --paper: #14171b;
  --line: #30363d; --wash: #1c2127; --accent: #ff8a3d; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 40px 24px 80px; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 18px; }
h1 { font-size: 22px; line-height: 1.35; font-weight: 650; margin: 6px 0 12px; max-width: 50em;
  text-wrap: pretty; overflow-wrap: anywhere; }
h2 { font-size: 20px; margin: 46px 0 4px; }
h3 { font-size: 16px; margin: 28px 0 4px; }
.kicker { margin: 0; color: var(--accent); font-weight: 600; }
.lead { color: var(--soft); max-width: 68em; margin: 4px 0 16px; }
.statement { border-left: 4px solid #009e73; background: var(--wash); padding: 10px 14px; }
.scroll, figure { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: 8px 0; }
th, td { padding: 6px 12px; text-align: right; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th { font-weight: 600; color: var(--soft); font-size: 13px; vertical-align: bottom; }
th:first-child, td:first-child, td:nth-child(2):last-child, th:nth-child(2):last-child
  { text-align: left; }
td:nth-child(2):last-child { white-space: normal; overflow-wrap: anywhere; }
tr.strong td { font-weight: 650; background: var(--wash); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 14px; font-size: 13.5px;
  color: var(--soft); margin: 12px 0; }
dt { font-weight: 600; color: var(--ink); } dd { margin: 0; }
figure { margin: 0; } figcaption { margin: 0 0 2px; overflow-wrap: anywhere; }
.side-by-side { display: flex; flex-wrap: wrap; gap: 22px 18px; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, 214px); gap: 18px 42px; }
.grid figcaption { font-size: 13px; font-weight: 600; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 14px; }
.legend i { display: inline-block; width: 12px; height: 12px; border-radius: 3px;
  margin-right: 7px; vertical-align: -1px; }
.patterns { position: absolute; }
svg { max-width: none; } svg text { font-family: inherit; } svg .name { fill: var(--ink); }
svg .tick { fill: var(--soft); font-size: 11px; }
svg .name { font-size: 13px; }
svg .cell { font-size: 9.5px; font-weight: 600; }
svg .small { font-size: 9px; }
svg .rule { stroke: var(--line); }
svg .spread { stroke: var(--ink); stroke-width: 1.2; }
svg .hatch { stroke: var(--soft); stroke-width: 0.8; opacity: 0.6; }
svg .blank { stroke: var(--line); }
pre { background: var(--wash); padding: 14px; overflow-x: auto; border-radius: 6px;
  font-size: 13px; max-height: 22em; }
details { margin: 12px 0; } summary { cursor: pointer; color: var(--soft); }
@media print { main { padding: 0; } section { break-inside: avoid-page; } }
"""
