"""The style sheet of the pages, which uses the host's colours and is scoped to one class.

No rule depends on whether the page is dark: the text colour is inherited, greys are the same colour
with less opacity, and accents are legible on both white and black. ``&`` stands for the root class.
The class is repeated in every rule, because Jupyter's rules for tables have the specificity ``(0,
2, 2)``.
"""

from __future__ import annotations

_RULES = """
& {--dl-line: var(--jp-border-color2, var(--vscode-panel-border, rgba(128,128,128,.3)));
 --dl-accent: var(--jp-brand-color1, var(--vscode-charts-blue, #3f8ae0));
 --dl-add: color-mix(in srgb, var(--jp-success-color1, #2da04e) 72%, currentColor);
 --dl-del: color-mix(in srgb, var(--jp-error-color1, #e0483e) 72%, currentColor);
 --dl-mod: color-mix(in srgb, var(--jp-warn-color1, #e58a00) 72%, currentColor);
 --dl-mono: var(--jp-code-font-family, ui-monospace, "DejaVu Sans Mono", monospace);
 color: inherit; font: 13px/1.5 var(--jp-ui-font-family, system-ui, sans-serif);
 font-variant-numeric: tabular-nums; max-width: 860px; padding: 4px 0; text-align: left}
& .dl-head {overflow-wrap: anywhere}
& .dl-head span {display: inline-block; max-width: 100%}
& .dl-name {font-size: 15px}
& .dl-head small, & .dl-quiet, & summary small, & thead th {opacity: .65; font-size: inherit}
& .dl-sub, & .dl-code {font-family: var(--dl-mono); font-size: 12px}
& .dl-sub {opacity: .65; overflow-wrap: anywhere}
& .dl-dirty, & .dl-changed {color: var(--dl-mod)}
& .dl-added {color: var(--dl-add)}
& .dl-removed {color: var(--dl-del)}
& details {margin: 8px 0 0; overflow-x: auto}
& summary {cursor: pointer; padding: 1px 0}
& summary b {font-weight: 600}
& table {border-collapse: collapse; border: 0; margin: 2px 0 4px; table-layout: auto;
 font-size: 13px}
& .dl-wide {width: 100%}
& thead {border: 0}
& tr, & tbody tr:nth-child(n) {background: none; border: 0; border-top: 1px solid var(--dl-line);
 padding: 0}
& thead tr, & tbody:first-child tr:first-child {border-top: 0}
& th, & td {padding: 2px 16px 2px 0; border: 0; line-height: 1.5; text-align: left; max-width: none;
 vertical-align: baseline; white-space: nowrap; font-weight: normal; overflow: hidden;
 text-overflow: ellipsis}
& tbody th {font-weight: 600; max-width: 180px}
& td {max-width: 340px}
& .dl-type {max-width: 120px}
& th:last-child, & td:last-child {padding-right: 0}
& .dl-wrap {white-space: normal; overflow-wrap: anywhere; width: 99%; min-width: 110px}
& .dl-texts td:last-child {width: 99%}
& .dl-n {text-align: right}
& .dl-examples td {vertical-align: middle; padding-top: 4px; padding-bottom: 4px}
& .dl-strip tr:nth-child(n) {display: flex; flex-wrap: wrap; gap: 6px; align-items: flex-end;
 margin: 4px 0}
& .dl-strip td {padding: 0; text-align: center}
& img, & .dl-gone {display: inline-block; margin: 1px; max-width: none; vertical-align: middle;
 border-radius: 3px; box-shadow: 0 0 0 1px var(--dl-line)}
& img + img {margin-left: 4px}
& .dl-pixels {image-rendering: pixelated}
& .dl-gone {padding: 2px 6px; max-width: 76px; white-space: normal; overflow-wrap: anywhere;
 font-size: 11px; opacity: .65}
& .dl-caption {display: block; width: 0; min-width: 100%; overflow: hidden;
 text-overflow: ellipsis}
& .dl-strip br {display: none}
& .dl-bars, & .dl-bars tbody {display: block; max-width: 416px}
& .dl-two, & .dl-two tbody {max-width: 860px; columns: 2 260px; column-gap: 28px}
& .dl-two {columns: auto}
& .dl-bars tr:nth-child(n) {display: grid; grid-template-columns: 130px 1fr 60px; gap: 10px;
 border: 0; break-inside: avoid}
& .dl-bars td, & .dl-bars th {padding: 0; font-weight: normal}
& .dl-bar {display: inline-block; height: 8px; overflow: hidden; border-radius: 2px;
 color: transparent; background: var(--dl-accent); opacity: .8}
"""

SHEET = "".join(_RULES.replace("&", ".dl-repr.dl-repr").split("\n"))
"""Content of the ``<style>`` element."""
