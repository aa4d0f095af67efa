// A trace as one page. The data stand in it as JSON, a script draws them; nothing is fetched.

#include "halftone/amp/html_page.h"
#include "halftone/amp/trace_json.h"

namespace halftone::amp {
namespace {

constexpr const char* kStyle = R"css(
ul.events li.bad { color: var(--bad); }
.forward { fill: var(--blue); } .backward { fill: var(--orange); } .stepping { fill: var(--green); }
.half { stroke: var(--ink); stroke-width: 1; } .bad { fill: var(--bad); }
svg text.meaning { font-size: 10px; fill: var(--faint); }
.curve { fill: none; stroke: var(--blue); stroke-width: 2; }
#timeline svg, #scale svg { min-width: 42rem; }
.wide td:first-child, .wide th:first-child { position: sticky; left: 0; background: var(--paper); }
dt { font-weight: 600; } dd { margin: 0 0 .4rem 1rem; }
)css";

constexpr const char* kBody = R"html(
<ul class="facts" id="facts"></ul>
<details><summary>Words on this page</summary><dl>
<dt>half precision</dt><dd>float16 or bfloat16, two bytes a number. float16 ends at 65504; below 2^-14 it loses bits
(subnormal), below 2^-25 it holds zero (flushed).</dd>
<dt>autocast region</dt><dd>the part of the program in which each operator's policy decides what type it runs in.</dd>
<dt>loss scale</dt><dd>what the loss is multiplied by before backward, so that small gradients survive float16. The optimizer
divides by it again. It is halved after an overflow, and doubled after many steps without one.</dd>
<dt>kept for backward</dt><dd>activations that stay in memory until backward has used them. A tensor that two operators keep is
counted once.</dd>
<dt>own time</dt><dd>the time of a call without that of the calls inside it.</dd>
<dt>non-finite</dt><dd>infinite or NaN (not a number).</dd>
</dl></details>
<h2>What happened</h2>
<ul class="events" id="events"></ul>
<h2>Timeline</h2>
<p class="note">Calls from left to right, calls inside a call below it. An outline marks results in half precision.
<span class="key" style="background:var(--blue)"></span>forward
<span class="key" style="background:var(--orange)"></span>backward
<span class="key" style="background:var(--green)"></span>optimizer step</p>
<p><label>Step <select id="which"></select></label></p>
<div class="wide" id="timeline"></div>
<h2>Loss scale</h2>
<p class="note">Powers of two, step by step. A dot is a step that was skipped: a gradient was infinite or NaN, the weights
did not move, and the scale went down.</p>
<p id="verdict"></p>
<div class="wide" id="scale"></div>
<h2>Operators by time</h2>
<p class="note">Sums over all steps. The policy is what the operator does inside an autocast region: low runs in half precision;
fp32 reads what it is given, half too, computes in fp32 and gives fp32; fp32_inside does so and gives the input's type;
promote takes the widest input (plain numbers do not count); any runs on what it is given. (off): outside a region.
-: no policy, for backward follows the types of forward.</p>
<div class="wide"><table id="operators"></table></div>
<h2>In which precision the forward operators ran</h2>
<p class="note">Behind the name, the policy that decided; with any, the input did.</p>
<div class="wide"><table id="precision"></table></div>
<h2>Casts</h2>
<p class="note">Conversions that autocast inserted. Fresh: computed now. Cached: a weight cast earlier in the same region.
Shadow: the optimizer keeps the copy, nothing is computed. Sums over all steps. What backward converts, gradients of
weights for example, is a to_dtype of phase backward above.</p>
<div class="wide"><table id="casts"></table></div>
<h2>Kept for backward</h2>
<p class="note">Bytes of activations in one step, the one that keeps most, by operator and type. Parameters and their
low-precision copies are not counted.</p>
<div class="wide"><table id="saved"></table></div>
<h2>How large the numbers are</h2>
<p class="note">Share of the elements per power of two, as stored (gradients: times the loss scale), when last looked at. Exact
zeros are in no bar: inactive units, or what float16 lost earlier in backward. A gradient fits up to the scale that its
caption names, with one doubling to spare.</p>
<div class="grid" id="histograms"></div>
)html";

constexpr const char* kScript = R"js(
'use strict';
const trace = JSON.parse(document.getElementById('trace').textContent);
const byId = id => document.getElementById(id);
const isHalf = dtype => dtype === 'float16' || dtype === 'bfloat16';
const bytes = n => n < 1024 ? n + ' B' : n < 1048576 ? (n / 1024).toFixed(1) + ' KiB' : (n / 1048576).toFixed(2) + ' MiB';
const time = us => us < 1e3 ? us.toFixed(1) + ' us' : us < 1e6 ? (us / 1e3).toFixed(2) + ' ms' : (us / 1e6).toFixed(2) + ' s';
const percent = x => (100 * x).toFixed(1) + ' %';

function element(parent, tag, text, attributes = {}) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  parent.append(node);
  return node;
}
function drawn(parent, tag, attributes = {}, text) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function picture(parent, width, height, label) {
  return drawn(parent, 'svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
}
function table(node, head, rows, firstNumber) {
  const cells = (parent, tag, values) => values.forEach((value, i) =>
    element(parent, tag, value, i >= firstNumber ? {class: 'number'} : {}));
  cells(element(element(node, 'thead'), 'tr'), 'th', head);
  const body = element(node, 'tbody');
  rows.forEach(row => cells(element(body, 'tr'), 'td', row));
}
function nothing(node, text) { element(node, 'p', text, {class: 'note'}); }

const calls = trace.operators.filter(op => op.kind !== 'node');
const halfResult = op => op.outputs.some(t => isHalf(t.dtype));
function group(list, key) {
  const groups = new Map();
  for (const item of list) {
    const name = key(item);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(item);
  }
  return groups;
}
const sum = (list, f) => list.reduce((total, item) => total + f(item), 0);

function savedOf(step) {
  const result = new Map();
  for (const op of calls) {
    if (op.step !== step) continue;
    for (const part of op.saved) result.set(part.dtype, (result.get(part.dtype) || 0) + part.bytes);
  }
  return result;
}
const steps = [...new Set(trace.operators.map(op => op.step))];
const total = map => sum([...map.values()], x => x);
const fullest = steps.reduce((best, s) => total(savedOf(s)) > total(savedOf(best)) ? s : best, steps[0] || 0);
const skipped = trace.steps.filter(s => s.skipped_nonfinite);
const asFloat = map => sum([...map], ([dtype, n]) => isHalf(dtype) ? 2 * n : n);

function showFacts() {
  const fact = (value, name) => element(byId('facts'), 'li', name).prepend(
    Object.assign(document.createElement('b'), {textContent: value}));
  fact(time(trace.totals.time_us), 'traced');
  fact(String(calls.length), 'calls');
  fact(`${skipped.length} of ${trace.steps.length}`, 'optimizer steps skipped');
  const ownTime = list => sum(list, op => op.self_us);
  fact(percent(ownTime(calls.filter(halfResult)) / Math.max(1e-9, ownTime(calls))), 'of the time in calls with half results');
  const kept = savedOf(fullest);
  fact(bytes(total(kept)), `kept for backward in a step (the same in float32: ${bytes(asFloat(kept))})`);
  fact(time(trace.totals.own_time_us), 'on top, taken by tracing itself');
}

function showEvents() {
  const list = byId('events');
  const scale = trace.scales;
  for (const step of trace.steps) {
    if (!step.skipped_nonfinite) continue;
    const reason = trace.nonfinite.find(n => n.step === step.step);
    const names = step.overflowed.slice(0, 4).join(', ') + (step.overflowed.length > 4 ? ', ...' : '');
    element(list, 'li', `Step ${step.step} was skipped, no weight moved: non-finite gradients` + (names ? ` of ${names}` : '') +
      (reason ? `. First cause: ${reason.text.replace(/^step \d+: /, '')}` : ''), {class: 'bad'});
  }
  for (const found of trace.nonfinite) {
    if (!skipped.some(s => s.step === found.step)) element(list, 'li', 'First non-finite value: ' + found.text, {class: 'bad'});
  }
  for (const s of scale) {
    if (s.grew) element(list, 'li', `Step ${s.step}: the scale grew from ${s.before} to ${s.after}`);
    if (s.backed_off) element(list, 'li', `Step ${s.step}: the scale backed off from ${s.before} to ${s.after}`);
    if (s.stalled) element(list, 'li', `Step ${s.step}: stalled, the scale is at its floor`, {class: 'bad'});
  }
  if (trace.totals.dropped) element(list, 'li', `${trace.totals.dropped} further calls were not recorded`);
  if (!list.children.length) element(list, 'li', 'Every value was finite, and the loss scale did not move.');
}

function showTimeline(step) {
  const place = byId('timeline');
  place.replaceChildren();
  let ops = trace.operators.filter(op => op.step === step && !op.failed);
  if (!ops.length) return nothing(place, 'No calls in this step.');
  const begin = Math.min(...ops.map(op => op.start_us)), end = Math.max(...ops.map(op => op.start_us + op.time_us));
  const width = 1000, row = 18, depth = Math.min(8, 1 + Math.max(...ops.map(op => op.depth)));
  const svg = picture(place, width, depth * row + 24, 'timeline of step ' + step);
  const x = t => width * (t - begin) / Math.max(1e-9, end - begin);
  const shortest = (end - begin) / 4000;  // narrower is not to be seen
  ops = ops.filter(op => op.depth < depth && op.time_us >= shortest);
  for (const op of ops) {
    const kind = op.phase === 'step' ? 'stepping' : op.phase;
    const box = drawn(svg, 'rect', {x: x(op.start_us).toFixed(2), y: 2 + row * op.depth,
      width: Math.max(.5, x(op.start_us + op.time_us) - x(op.start_us)).toFixed(2), height: row - 3,
      class: kind + (halfResult(op) ? ' half' : '')});
    const show = list => list.map(t => `${t.dtype}[${t.sizes}]`).join(' ');
    drawn(box, 'title', {}, `${op.name} ${op.module} ${op.phase}, ${time(op.time_us)}\n${show(op.inputs)} -> ${show(op.outputs)}`);
    if (x(op.start_us + op.time_us) - x(op.start_us) > 7 * op.name.length + 6) {
      drawn(svg, 'text', {x: x(op.start_us) + 3, y: row * op.depth + 14, 'pointer-events': 'none'}, op.name);
    }
  }
  drawn(svg, 'text', {x: 2, y: depth * row + 18}, '0');
  drawn(svg, 'text', {x: width - 2, y: depth * row + 18, 'text-anchor': 'end'}, time(end - begin));
}

function showScale() {
  const place = byId('scale'), list = trace.scales;
  if (!list.length) return nothing(place, 'No loss scaling was used.');
  const width = 1000, height = 200, left = 50, bottom = 24;
  const logs = list.flatMap(s => [Math.log2(s.before), Math.log2(s.after)]);
  const low = Math.floor(Math.min(...logs)) - 1, high = Math.ceil(Math.max(...logs)) + 1;
  const svg = picture(place, width, height, 'loss scale, step by step');
  const x = i => left + (width - left - 10) * (i + .5) / list.length;
  const y = l => (height - bottom) * (high - l) / (high - low);
  for (let l = low + 1; l < high; l += Math.max(1, Math.round((high - low) / 6))) {
    drawn(svg, 'line', {x1: left, x2: width, y1: y(l), y2: y(l), class: 'rule'});
    drawn(svg, 'text', {x: left - 4, y: y(l) + 4, 'text-anchor': 'end'}, '2^' + l);
  }
  const half = (width - left - 10) / 2 / list.length;
  let path = '';
  list.forEach((s, i) => { path += `${i ? 'V' + y(Math.log2(s.before)) : `M${x(0) - half} ${y(Math.log2(s.before))}`}H${x(i) + half}`; });
  path += `V${y(Math.log2(list[list.length - 1].after))}`;
  drawn(svg, 'path', {d: path, class: 'curve'});
  list.forEach((s, i) => {
    if (!s.skipped) return;
    const dot = drawn(svg, 'circle', {cx: x(i), cy: y(Math.log2(s.before)), r: 5, class: 'bad'});
    drawn(dot, 'title', {}, `step ${s.step} skipped at scale ${s.before}`);
    if (skipped.length < 20) drawn(svg, 'text', {x: x(i) + 8, y: y(Math.log2(s.before)) + 4}, s.step);
  });
  drawn(svg, 'text', {x: x(0), y: height - 6}, 'step ' + list[0].step);
  drawn(svg, 'text', {x: width - 10, y: height - 6, 'text-anchor': 'end'}, 'step ' + list[list.length - 1].step);
}

const lastHistograms = new Map();
for (const h of trace.histograms) lastHistograms.set(h.name + (h.gradient ? ' gradient' : ' value'), h);

function showVerdict() {
  const gradients = [...lastHistograms.values()].filter(h => h.gradient && h.largest > 0);
  if (!gradients.length || !trace.scales.length) return;
  const tightest = gradients.reduce((least, h) => h.suggested_scale < least.suggested_scale ? h : least);
  const lost = sum(gradients, h => h.flushed) / Math.max(1, sum(gradients, h => h.elements));
  byId('verdict').textContent = `The scale is ${trace.scales[trace.scales.length - 1].after} now. As last looked at, all watched ` +
    `gradients fit up to ${tightest.suggested_scale}, with one doubling to spare; ${tightest.name} is the limit. ` +
    `Kept in float16 at that scale, ${percent(lost)} of them would be flushed to zero.`;
}

function showOperators() {
  const castsOf = group(trace.casts, cast => cast.op);
  const dtypes = op => op.inputs.map(t => t.dtype).join(' ') + ' -> ' + op.outputs.map(t => t.dtype).join(' ');
  const policy = op => op.kind === 'step' || (op.phase === 'backward' && !op.autocast) ? '-' : op.policy + (op.autocast ? '' : ' (off)');
  const index = new Map(trace.operators.map((op, i) => [op, i]));
  const groups = [...group(calls, op => [op.name, op.phase, policy(op), dtypes(op)].join('\n')).values()];
  const rows = groups.map(list => ({first: list[0], self: sum(list, op => op.self_us), calls: list.length,
    casts: sum(list, op => (castsOf.get(index.get(op)) || []).length),
    saved: sum(list, op => sum(op.saved, part => part.bytes))}));
  rows.sort((a, b) => b.self - a.self);
  const all = sum(rows, row => row.self) || 1;
  table(byId('operators'), ['operator', 'phase', 'policy', 'types', 'calls', 'own time', 'share', 'casts', 'kept'],
    rows.map(row => [row.first.name, row.first.phase, policy(row.first), dtypes(row.first), row.calls, time(row.self),
      percent(row.self / all), row.casts, bytes(row.saved)]), 4);

  // What the user's own code called, so that a reader finds the model's layers again.
  const own = calls.filter(op => op.depth === 0 && op.phase === 'forward' && op.kind !== 'view' && op.outputs.length);
  const ran = op => op.cast_to || op.outputs[0].dtype;
  const kinds = group(own, ran);
  table(byId('precision'), ['precision', 'forward operators'], [...kinds].map(([dtype, list]) =>
    [dtype, [...new Set(list.map(op => `${op.name} (${policy(op)})`))].sort().join(', ')]), 2);
}

function showCasts() {
  const rows = [...group(trace.casts, c => `${c.source}\n${c.from} -> ${c.to}\n${c.tensor || 'activations'}`)];
  if (!rows.length) return nothing(byId('casts'), 'None.');
  const sums = list => [list.length, bytes(sum(list, c => c.bytes_read)), bytes(sum(list, c => c.bytes_written)),
    time(sum(list, c => c.time_us))];
  table(byId('casts'), ['source', 'types', 'of', 'count', 'read', 'written', 'time'],
    [...rows.map(([key, list]) => [...key.split('\n'), ...sums(list)]), ['all', '', '', ...sums(trace.casts)]], 3);
}

function showSaved() {
  const parts = calls.filter(op => op.step === fullest).flatMap(op => op.saved.map(part => ({...part, op})));
  if (!parts.length) return nothing(byId('saved'), 'Nothing was kept for backward.');
  const rows = [...group(parts, part => [part.op.name, part.op.module || '-', part.dtype].join('\n'))]
    .map(([key, list]) => [key.split('\n'), sum(list, part => part.bytes)]).sort((a, b) => b[1] - a[1]);
  table(byId('saved'), ['operator', 'module', 'type', 'bytes'], rows.map(([names, n]) => [...names, bytes(n)]), 3);
}

function showHistograms() {
  if (!lastHistograms.size) return nothing(byId('histograms'), 'No tensor was watched: trace.watch(model->named_parameters()).');
  for (const [name, h] of lastHistograms) {
    const figure = element(byId('histograms'), 'figure');
    const low = -45, high = 20, width = 300, height = 110, base = height - 16;
    const svg = picture(figure, width, height, 'exponents of ' + name);
    const x = e => width * (e - low) / (high - low), most = Math.max(1, ...h.counts);
    h.counts.forEach((n, i) => {
      const e = Math.max(low, Math.min(high - 1, h.first_exponent + i));
      const bar = drawn(svg, 'rect', {x: x(e), width: width / (high - low) - .5, y: base - (base - 8) * n / most,
        height: (base - 8) * n / most, class: e < -25 || e > 15 ? 'bad' : 'forward'});
      drawn(bar, 'title', {}, `2^${h.first_exponent + i}: ${n} of ${h.elements}`);
    });
    for (const e of [-25, -14, 16]) drawn(svg, 'line', {x1: x(e), x2: x(e), y1: 2, y2: base, class: 'rule'});
    for (const [e, meaning] of [[-25, 'zero'], [-14, 'subnormal']])
      drawn(svg, 'text', {x: x(e) - 3, y: 12, 'text-anchor': 'end', class: 'meaning'}, meaning);
    drawn(svg, 'text', {x: x(16) - 2, y: 12, 'text-anchor': 'end', class: 'meaning'}, 'overflow \u2192');
    for (const e of [-40, -25, -14, 0, 16]) drawn(svg, 'text', {x: x(e), y: height - 3, 'text-anchor': 'middle'}, '2^' + e);
    const share = n => percent(n / Math.max(1, h.elements));
    element(figure, 'figcaption', `${name}, ${h.dtype}, step ${h.step}` + (h.scale !== 1 ? `, times ${h.scale}` : '') +
      `: ${share(h.zeros)} exact zeros; in float16 another ${share(h.flushed)} flushed to zero, ${share(h.subnormal)} subnormal, ` +
      `${share(h.overflow)} overflow` + (h.gradient && h.largest > 0 ? `; fits up to scale ${h.suggested_scale}` : ''));
  }
}

steps.forEach(step => element(byId('which'), 'option', step, {value: step}));
byId('which').addEventListener('change', event => showTimeline(Number(event.target.value)));
const shown = skipped.length ? skipped[0].step : steps[steps.length - 1] || 0;
byId('which').value = shown;
showFacts(); showEvents(); showTimeline(shown); showVerdict(); showScale(); showOperators(); showCasts(); showSaved();
showHistograms();
document.body.dataset.drawn = 'yes';
)js";

}  // namespace

std::string trace_html(const TraceLog& log, const std::string& title) {
  return html_page(title, kStyle,
                   concat(kBody, "<script type=\"application/json\" id=\"trace\">", trace_page_json(log),
                          "</script>\n<script>", kScript, "</script>"));
}

}  // namespace halftone::amp
