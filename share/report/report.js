// The report page. All text that a program made goes into the page as text nodes or onto the canvas, never as markup.
// What is large is drawn on demand: the canvas and the list of events hold only what is visible.
(function () {
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const events = data.events, threads = data.threads, why = data.why;
const performed = (() => { let n = events.length; while (n > 0 && events[n - 1].pending) --n; return n; })();
const eventNumber = i => i + 1 + data.left_out + (i >= data.gap.at ? data.gap.events : 0);  // of the whole run
const LANE = 46, HEAD = 22;
let width = 16;              // pixels for one event
let current = -1;            // event that was just performed
let file = null;             // source on show

// ---- small helpers
function make(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === 'class') node.className = value;
    else if (name === 'on') for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) node.append(child);
  return node;
}
const clear = node => { while (node.firstChild) node.removeChild(node.firstChild); };
const threadName = t => threads[t] ? threads[t].name : '?';
const threadTitle = t => 'thread ' + threadName(t) + (threads[t] && threads[t].start ? ' (' + threads[t].start + ')' : '');
const colourName = t => '--t' + (t % 8);
const dot = t => { const node = make('span', {class: 'thread-dot', 'aria-hidden': 'true'}); node.style.background = 'var(' + colourName(t) + ')'; return node; };
const placeText = e => e.file ? e.file + ':' + e.line : '';
const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : 's');
function shellQuote(word) { return /^[A-Za-z0-9_@%+=:,.\/-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\\''") + "'"; }

// ---- what is decisive
const decisive = new Map();  // event -> labels
why.decisive.forEach((pair, i) => {
  for (const [which, event] of [['a', pair.first], ['b', pair.second]]) {
    if (!decisive.has(event)) decisive.set(event, []);
    decisive.get(event).push((i + 1) + which);
  }
});
const decisiveLines = new Map();  // file -> line -> labels
for (const [event, labels] of decisive) {
  const e = events[event];
  if (!e || !e.file) continue;
  if (!decisiveLines.has(e.file)) decisiveLines.set(e.file, new Map());
  const lines = decisiveLines.get(e.file);
  lines.set(e.line, (lines.get(e.line) || []).concat(labels));
}
const keyVariables = new Set();
for (const event of decisive.keys()) if (events[event] && events[event].variable !== undefined) keyVariables.add(events[event].variable);

// ---- segments: longest stretches of one thread
const segments = [];
for (let i = 0; i < performed; ++i) {
  const e = events[i], last = segments[segments.length - 1];
  if (last && (last.thread === e.thread || e.kind === 'visible')) { last.end = i + 1; continue; }
  segments.push({thread: e.thread, begin: i, end: i + 1, why: null});
}
segments.forEach((segment, i) => {
  const step = data.schedule.steps[events[segment.end - 1].step];
  segment.why = i + 1 === segments.length ? 'end' : (step && step.end) || 'preempted';
});
const segmentOf = i => {
  let low = 0, high = segments.length - 1;
  while (low < high) { const middle = (low + high + 1) >> 1; if (segments[middle].begin <= i) low = middle; else high = middle - 1; }
  return low;
};

// ---- values: for each variable, the moments at which memory changed
const changes = data.variables.map(() => []);
const pendingStores = data.variables.map(() => []);
const bufferedBy = new Map(data.buffered.map(span => [span.begin, span]));
for (let i = 0; i < performed; ++i) {
  const e = events[i];
  if (e.variable === undefined) continue;
  if (e.kind === 'write') {
    const span = bufferedBy.get(i);
    if (span) {
      pendingStores[e.variable].push({begin: i, end: span.end, value: e.value, thread: e.thread});
      if (span.end < performed && events[span.end].kind !== 'visible') changes[e.variable].push({at: span.end, value: e.value, thread: e.thread});
    } else changes[e.variable].push({at: i, value: e.value, thread: e.thread});
  } else if (e.kind === 'visible') changes[e.variable].push({at: i, value: e.value, thread: e.thread});
  else if (e.kind === 'update') changes[e.variable].push({at: i, value: e.after, thread: e.thread});
}
changes.forEach(list => list.sort((a, b) => a.at - b.at));
function lastBefore(list, at) {
  let low = 0, high = list.length;
  while (low < high) { const middle = (low + high) >> 1; if (list[middle].at <= at) low = middle + 1; else high = middle; }
  return low === 0 ? null : list[low - 1];
}
const ofThread = threads.map(() => []);  // events of each thread, for "where does it stand"
for (let i = 0; i < performed; ++i) if (events[i].kind !== 'visible' && ofThread[events[i].thread]) ofThread[events[i].thread].push({at: i});

// ---- the head
function badge(text, kind) { return make('span', {class: 'badge' + (kind ? ' ' + kind : '')}, text); }
function fillHead() {
  document.title = why.name + ' in ' + data.program + ' – heddle';
  $('what').textContent = data.command.map(shellQuote).join(' ');
  $('what').title = $('what').textContent;
  $('badges').append(badge(why.name, 'bad'), badge(data.failure.kind), badge('memory model ' + data.memory_model.toUpperCase()),
    badge(plural(data.schedule.preemptions, 'preemption') + ', ' + plural(data.schedule.switches, 'switch').replace('switchs', 'switches')));
  if (data.replays.runs) $('badges').append(badge('fails ' + data.replays.reproduced + ' of ' + data.replays.runs + ' replays', data.replays.runs === data.replays.reproduced ? 'good' : 'bad'));
  $('headline').textContent = why.headline;
  $('failure').textContent = data.failure.identity;
  for (const sentence of why.explanation) $('why').append(make('p', {}, sentence));
  if (why.cycle.length) $('why').append(make('ul', {}, why.cycle.map(line => make('li', {}, line))));
  if (why.advice) $('advice').append(make('b', {}, 'What would help: '), why.advice);
}
function deedRow(index) {
  const e = events[index];
  return make('div', {class: 'deed'}, dot(e.thread), make('span', {}, threadTitle(e.thread)), make('code', {}, e.text), make('code', {}, placeText(e)));
}
function fillPairs() {
  if (!why.decisive.length) { $('pairs-section').hidden = true; return; }
  why.decisive.slice(0, 8).forEach((pair, i) => {
    const counts = pair.visibility
      ? 'With the store visible at once, the failure is gone.'
      : 'The other way round ' + pair.flipped.passed + ' of ' + plural(pair.flipped.runs, 'run') + ' passed' + (pair.kept.runs ? '; in this order ' + pair.kept.failed + ' of ' + pair.kept.runs + ' failed in the same way.' : '.');
    $('pairs').append(make('li', {class: 'pair', title: pair.text},
      make('span', {class: 'tag'}, String(i + 1)),
      make('div', {class: 'body'}, deedRow(pair.first), make('div', {class: 'counts'}, pair.visibility ? 'before this becomes visible' : 'before'), deedRow(pair.second)),
      make('button', {type: 'button', class: 'show', 'aria-label': 'Show pair ' + (i + 1) + ' in the timeline', on: {click: () => { go(Math.min(pair.first, performed - 1)); $('timeline').focus(); }}}, 'show'),
      make('div', {class: 'counts'}, counts)));
  });
  $('sure').textContent = plural(why.flips, 'order') + ' put the other way round by controlled runs, of ' + plural(why.pairs, 'pair') + ' that could matter; ' +
    plural(why.impossible, 'of them the program does not allow').replace('allows', 'allow') + '. ' + plural(why.runs, 'run') + ' in all.' + (why.finished ? '' : ' The time was over before all were tried.');
}

// ---- the timeline
const canvas = $('canvas'), scroll = $('scroll'), context = canvas.getContext('2d');
let colours = {};
function readColours() {
  const style = getComputedStyle(document.documentElement);
  colours = {};
  for (const name of ['--paper', '--card', '--ink', '--soft', '--line', '--faint', '--accent', '--bad', '--mark', '--mark-line', '--t0', '--t1', '--t2', '--t3', '--t4', '--t5', '--t6', '--t7'])
    colours[name] = style.getPropertyValue(name).trim();
}
function fillLanes() {
  threads.forEach((thread, t) => {
    const lane = make('div', {class: 'lane', title: threadTitle(t)}, make('b', {}, thread.name), make('span', {}, thread.start || ''));
    lane.firstChild.style.color = 'var(' + colourName(t) + ')';
    $('lanes').append(lane);
  });
  const item = (text, style) => { const mark = make('i', {}); Object.assign(mark.style, style); return make('span', {}, mark, text); };
  $('legend').append(item('runs', {background: 'var(--t1)'}), item('holds a lock', {background: 'var(--soft)', height: '4px', verticalAlign: 'middle'}),
    item('decisive event', {background: 'var(--mark)', border: '1px solid var(--mark-line)'}), item('preempted', {borderLeft: '2px dashed var(--bad)', width: '4px', height: '11px', borderRadius: '0'}));
  if (data.buffered.length) $('legend').append(item('store in the buffer', {background: 'repeating-linear-gradient(90deg, var(--mark-line) 0 3px, transparent 3px 6px)'}));
}
const laneTop = t => HEAD + t * LANE;
let drawWanted = false;
function draw() { if (!drawWanted) { drawWanted = true; requestAnimationFrame(() => { drawWanted = false; drawNow(); }); } }
function layout() {
  const room = scroll.clientWidth, ratio = window.devicePixelRatio || 1;
  width = Math.max(9, Math.min(26, Math.floor((room - 24) / Math.max(performed, 1))));
  const height = HEAD + threads.length * LANE + 6;
  $('extent').style.width = Math.max(room, performed * width + 24) + 'px';
  canvas.style.width = room + 'px';
  canvas.style.height = height + 'px';
  canvas.width = Math.round(room * ratio);
  canvas.height = Math.round(height * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw();
}
function firstIndexFrom(list, from, key) {
  let low = 0, high = list.length;
  while (low < high) { const middle = (low + high) >> 1; if (list[middle][key] < from) low = middle + 1; else high = middle; }
  return low;
}
function drawNow() {
  const room = scroll.clientWidth, left = scroll.scrollLeft, bottom = HEAD + threads.length * LANE;
  const x = i => i * width + 12 - left;
  const from = Math.max(0, Math.floor((left - 12) / width) - 1), to = Math.min(performed, Math.ceil((left + room) / width) + 1);
  context.clearRect(0, 0, room, bottom + 6);
  context.font = '11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
  context.textBaseline = 'alphabetic';
  // Ground: lanes, and every tenth event.
  context.fillStyle = colours['--line'];
  threads.forEach((_, t) => context.fillRect(0, laneTop(t), room, 1));
  const every = width >= 12 ? 10 : 20;
  for (let i = Math.ceil(from / every) * every; i < to; i += every) {
    context.fillStyle = colours['--soft'];
    context.fillText(String(eventNumber(i)), x(i), 14);
    context.fillStyle = colours['--faint'];
    context.fillRect(x(i) + width / 2, HEAD, 1, bottom - HEAD);
  }
  // The pair on show, or the first: a band from one event to the other.
  const pairs = why.decisive.filter(pair => pair.first < performed && pair.second < performed);
  const shown = pairs.filter(pair => pair.first === current || pair.second === current);
  for (const pair of shown.length ? shown : pairs.slice(0, 1)) {
    const end = visibleAt(pair);
    context.globalAlpha = .55;
    context.fillStyle = colours['--mark'];
    context.fillRect(x(Math.min(pair.first, end)), HEAD + 1, (Math.abs(end - pair.first) + 1) * width, bottom - HEAD);
    context.globalAlpha = 1;
  }
  // Segments.
  const firstSegment = segments.length ? segmentOf(from) : 0;
  for (let s = firstSegment; s < segments.length && segments[s].begin <= to; ++s) {
    const segment = segments[s], top = laneTop(segment.thread);
    context.fillStyle = colours[colourName(segment.thread)];
    context.globalAlpha = .9;
    rounded(x(segment.begin) + 1, top + 9, (segment.end - segment.begin) * width - 2, 16, 4);
    context.globalAlpha = 1;
    if (s + 1 < segments.length) {
      const next = segments[s + 1], at = x(segment.end), forced = segment.why !== 'preempted';
      context.strokeStyle = forced ? colours['--soft'] : colours['--bad'];
      context.lineWidth = forced ? 1 : 2;
      context.setLineDash(forced ? [] : [4, 3]);
      context.beginPath();
      context.moveTo(at, top + 17);
      context.lineTo(at, laneTop(next.thread) + 17);
      context.stroke();
      context.setLineDash([]);
    }
  }
  // Locks below the segments, buffered stores above.
  const depth = new Map();
  for (const span of data.locks) {
    if (span.begin > to || span.end < from) continue;
    const level = (depth.get(span.thread) || 0) % 3;
    depth.set(span.thread, level + 1);
    context.fillStyle = colours['--soft'];
    const top = laneTop(span.thread) + 29 + level * 5;
    context.fillRect(x(span.begin) + 2, top, Math.max(3, (span.end - span.begin) * width), 3);
    if ((span.end - span.begin) * width > 60 && level === 0) {
      context.fillText(clip(span.object, Math.floor((span.end - span.begin) * width / 7)), Math.max(x(span.begin) + 3, 3), top + 13);
    }
  }
  for (const span of data.buffered) {
    if (span.begin > to || span.end < from) continue;
    context.strokeStyle = colours['--mark-line'];
    context.lineWidth = 4;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x(span.begin) + width / 2, laneTop(span.thread) + 5);
    context.lineTo(x(Math.min(span.end, performed)) + width / 2, laneTop(span.thread) + 5);
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }
  // Events.
  for (let i = from; i < to; ++i) {
    const e = events[i], top = laneTop(e.thread), middle = x(i) + width / 2;
    if (e.kind === 'visible') {
      context.fillStyle = colours['--mark-line'];
      context.beginPath(); context.moveTo(middle, top + 1); context.lineTo(middle + 5, top + 9); context.lineTo(middle - 5, top + 9); context.fill();
      continue;
    }
    if (e.variable !== undefined) {
      context.fillStyle = colours['--card'];
      if (e.kind === 'read') { context.globalAlpha = .75; context.fillRect(middle - 2, top + 15, 4, 4); context.globalAlpha = 1; } else context.fillRect(middle - 3, top + 12, 6, 10);
    }
  }
  for (const [event, labels] of decisive) {
    if (event < from || event >= to) continue;
    const e = events[event], middle = x(event) + width / 2, top = laneTop(e.thread);
    context.fillStyle = colours['--mark'];
    context.strokeStyle = colours['--mark-line'];
    context.lineWidth = 1.5;
    context.beginPath(); context.arc(middle, top + 17, 8, 0, 7); context.fill(); context.stroke();
    context.fillStyle = colours['--ink'];
    context.textAlign = 'center';
    context.font = '600 9.5px system-ui, sans-serif';
    context.fillText(labels[0], middle, top + 20.5);
    context.textAlign = 'left';
    context.font = '11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
  }
  // The end, and where we are.
  if (performed <= to) {
    const e = events[performed - 1], at = x(performed) + 1;
    context.strokeStyle = colours['--bad']; context.lineWidth = 2.5;
    const top = laneTop(e.thread) + 17;
    context.beginPath(); context.moveTo(at - 4, top - 6); context.lineTo(at + 8, top + 6); context.moveTo(at + 8, top - 6); context.lineTo(at - 4, top + 6); context.stroke();
  }
  if (current >= 0) {
    context.strokeStyle = colours['--accent']; context.lineWidth = 2;
    context.strokeRect(x(current), HEAD + 1, width, bottom - HEAD - 1);
  }
}
function visibleAt(pair) {
  if (!pair.visibility) return pair.second;
  const span = bufferedBy.get(pair.second);
  return span ? Math.min(span.end, performed - 1) : pair.second;
}
const clip = (text, length) => text.length > length ? text.slice(0, Math.max(1, length - 1)) + '…' : text;
function rounded(left, top, wide, high, radius) {
  const r = Math.min(radius, wide / 2);
  context.beginPath();
  context.moveTo(left + r, top); context.arcTo(left + wide, top, left + wide, top + high, r); context.arcTo(left + wide, top + high, left, top + high, r);
  context.arcTo(left, top + high, left, top, r); context.arcTo(left, top, left + wide, top, r); context.fill();
}

// ---- the source
function showFile(name) {
  file = name;
  const code = $('code');
  clear(code);
  for (const tab of $('tabs').children) tab.setAttribute('aria-selected', String(tab.dataset.file === name));
  const source = data.sources.find(each => each.file === name);
  if (!source) return;
  if (source.missing || !source.lines.length) {
    code.append(make('p', {class: 'missing'}, 'The text of ' + source.file + ' was not there when the report was made: ' + (source.missing || 'it is empty')));
    return;
  }
  const marks = decisiveLines.get(name) || new Map();
  source.lines.forEach((text, i) => {
    const number = source.first_line + i, labels = marks.get(number);
    code.append(make('div', {class: 'row' + (labels ? ' decisive' : '') + (usedLines.has(name + ':' + number) ? ' seen' : ''), 'data-line': number},
      make('span', {class: 'no', 'aria-hidden': 'true'}, String(number)), make('span', {class: 'tx'}, text || ' '),
      labels ? make('span', {class: 'tagged'}, 'decisive ' + [...new Set(labels)].slice(0, 6).join(' ')) : null));
  });
}
const usedLines = new Set(events.filter(e => e.file).map(e => e.file + ':' + e.line));
let shownLine = null;
function showLine(e) {
  if (shownLine) shownLine.classList.remove('current');
  shownLine = null;
  if (!e.file) return;
  if (file !== e.file) { if (!data.sources.some(each => each.file === e.file)) return; showFile(e.file); }
  const source = data.sources.find(each => each.file === e.file);
  const row = $('code').children[e.line - source.first_line];
  if (!row || !row.classList.contains('row')) return;
  shownLine = row;
  row.classList.add('current');
  const code = $('code');
  if (row.offsetTop < code.scrollTop + 40 || row.offsetTop > code.scrollTop + code.clientHeight - 60) code.scrollTop = row.offsetTop - code.clientHeight / 2;
}
function fillTabs() {
  for (const source of data.sources)
    $('tabs').append(make('button', {type: 'button', role: 'tab', 'data-file': source.file, 'aria-selected': 'false', title: source.path, on: {click: () => { showFile(source.file); if (current >= 0 && events[current].file === source.file) showLine(events[current]); }}}, source.file.split('/').pop()));
}

// ---- values, threads, stack
function showValues() {
  const rows = data.variables.map((variable, i) => ({variable, i, change: lastBefore(changes[i], current), waiting: pendingStores[i].filter(store => store.begin <= current && current < store.end)}));
  rows.sort((a, b) => (keyVariables.has(b.i) - keyVariables.has(a.i)) || ((b.change ? b.change.at : -1) - (a.change ? a.change.at : -1)) || a.i - b.i);
  const body = $('values');
  clear(body);
  for (const row of rows.slice(0, 60)) {
    const waiting = row.waiting.map(store => make('span', {class: 'waiting'}, store.value + ' in the buffer of thread ' + threadName(store.thread)));
    body.append(make('tr', {class: (row.change && row.change.at === current ? 'changed ' : '') + (keyVariables.has(row.i) ? 'key' : '')},
      make('td', {}, row.variable.name), make('td', {}, row.change ? row.change.value : row.variable.initial || '?', waiting), make('td', {}, row.change ? threadName(row.change.thread) : '')));
  }
  if (!rows.length) body.append(make('tr', {}, make('td', {colspan: '3'}, 'No memory is shared in this run.')));
}
function showThreads() {
  const list = $('threads');
  clear(list);
  threads.slice(0, 40).forEach((thread, t) => {
    const last = lastBefore(ofThread[t], current), e = last ? events[last.at] : null;
    const ended = e && (e.kind === 'thread_end' || e.kind === 'process_exit');
    list.append(make('li', {class: current >= 0 && events[current].thread === t ? 'running' : ''}, dot(t), ' ', make('b', {}, thread.name), ' ' + (thread.start || '') + ' ',
      make('code', {}, e ? (ended ? 'has ended' : placeText(e)) : 'not begun')));
  });
}
function showStack(e) {
  $('stack-section').hidden = !e.stack;
  clear($('stack'));
  for (const frame of e.stack || []) $('stack').append(make('li', {}, frame.function + (frame.place ? ' at ' + frame.place.file + ':' + frame.place.line : '')));
}

// ---- the list of events, of which only what is visible exists
const ROW = 26;
let listed = events.map((_, i) => i);
function matters(i) {
  const e = events[i];
  return decisive.has(i) || (e.variable !== undefined && keyVariables.has(e.variable)) || e.pending || i === performed - 1;
}
function fillList() {
  listed = events.map((_, i) => i).filter(i => !$('only').checked || matters(i));
  $('events-extent').style.height = listed.length * ROW + 'px';
  drawList();
}
function drawList() {
  const box = $('events'), rows = $('events-rows');
  const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 4), to = Math.min(listed.length, from + Math.ceil(box.clientHeight / ROW) + 8);
  clear(rows);
  rows.style.top = from * ROW + 'px';
  for (let k = from; k < to; ++k) {
    const i = listed[k], e = events[i];
    rows.append(make('div', {class: 'event' + (i === current ? ' current' : '') + (decisive.has(i) ? ' decisive' : '') + (i > 0 && events[i - 1].thread !== e.thread ? ' switch' : ''),
      role: 'option', id: 'event-' + i, 'aria-selected': String(i === current), 'aria-setsize': listed.length, 'aria-posinset': k + 1, 'data-event': i},
      make('span', {class: 'n'}, e.pending ? '–' : String(eventNumber(i))), make('span', {class: 'th'}, threadName(e.thread)), make('span', {class: 'tx'}, (decisive.has(i) ? '[' + decisive.get(i).join(' ') + '] ' : '') + e.text), make('span', {class: 'at'}, placeText(e))));
  }
}
function showInList() {
  const k = listed.indexOf(current), box = $('events');
  if (k >= 0 && (k * ROW < box.scrollTop || (k + 1) * ROW > box.scrollTop + box.clientHeight)) box.scrollTop = Math.max(0, k * ROW - box.clientHeight / 2);
  box.setAttribute('aria-activedescendant', 'event-' + current);
  drawList();
}

// ---- stepping
function sentence(i) {
  const e = events[i], labels = decisive.get(i);
  return threadTitle(e.thread) + ': ' + e.text + (placeText(e) ? ' – ' + placeText(e) + (e.function ? ' ' + e.function : '') : '') + (labels ? '  [decisive ' + labels.join(' ') + ']' : '') +
    (i === performed - 1 ? '  → ' + data.failure.kind : '');
}
function go(to) {
  if (!performed) return;
  current = Math.max(0, Math.min(performed - 1, to));
  const e = events[current], box = $('timeline');
  box.setAttribute('aria-valuenow', String(current + 1));
  box.setAttribute('aria-valuetext', 'event ' + (current + 1) + ': ' + sentence(current));
  box.dataset.event = current;
  $('position').textContent = eventNumber(current) + ' of ' + eventNumber(performed - 1);
  $('now').textContent = sentence(current);
  const at = current * width + 12;
  if (at < scroll.scrollLeft + 40 || at + width > scroll.scrollLeft + scroll.clientWidth - 40) scroll.scrollLeft = at - scroll.clientWidth / 2;
  showLine(e);
  if (!renderWanted) { renderWanted = true; requestAnimationFrame(render); }
}
// What is beside the event itself, once for each picture however fast somebody steps.
let renderWanted = false;
function render() {
  renderWanted = false;
  showInList();
  showValues();
  showThreads();
  showStack(events[current]);
  drawNow();
}
const ways = {
  first: () => go(0),
  last: () => go(performed - 1),
  back: () => go(current - 1),
  on: () => go(current + 1),
  'switch-on': () => { const s = segmentOf(Math.max(current, 0)); go(s + 1 < segments.length ? segments[s + 1].begin : performed - 1); },
  'switch-back': () => { const s = segmentOf(Math.max(current, 0)); go(segments[s].begin < current ? segments[s].begin : s > 0 ? segments[s - 1].begin : 0); },
  decisive: () => { const all = [...decisive.keys()].filter(i => i < performed).sort((a, b) => a - b); const next = all.find(i => i > current); go(next === undefined ? (all.length ? all[0] : current) : next); },
};
const keys = {ArrowLeft: 'back', ArrowRight: 'on', ArrowUp: 'switch-back', ArrowDown: 'switch-on', PageUp: 'switch-back', PageDown: 'switch-on', Home: 'first', End: 'last', d: 'decisive'};
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target, tag = target.tagName;
  if (tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT') return;
  const way = keys[event.key];
  if (!way) return;
  // Up, down and the like scroll the page unless the timeline or the list has the focus.
  const here = target === $('timeline') || target === $('events');
  if (!here && !['ArrowLeft', 'ArrowRight', 'd'].includes(event.key)) return;
  if (!here && (target === $('code') || target.closest('.scrolling'))) return;
  event.preventDefault();
  if (target === $('events') && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
    const k = listed.findIndex(i => i >= current), next = event.key === 'ArrowDown' ? (listed[k] === current ? k + 1 : k) : k - 1;
    if (next >= 0 && next < listed.length) go(listed[next]);
    return;
  }
  ways[way]();
});
for (const button of document.querySelectorAll('[data-go]')) button.addEventListener('click', () => ways[button.dataset.go]());
$('events').addEventListener('scroll', drawList, {passive: true});
$('events').addEventListener('click', event => { const row = event.target.closest('.event'); if (row && Number(row.dataset.event) < performed) go(Number(row.dataset.event)); });
$('only').addEventListener('change', fillList);
scroll.addEventListener('scroll', draw, {passive: true});
canvas.addEventListener('click', event => { const at = Math.floor((event.offsetX + scroll.scrollLeft - 12) / width); if (at >= 0 && at < performed) go(at); $('timeline').focus(); });

// ---- commands
function copy(text) {
  const done = () => { $('said').textContent = 'Copied: ' + text; };
  const byHand = () => {
    const area = make('textarea', {readonly: true, 'aria-hidden': 'true'});
    area.value = text; area.style.position = 'fixed'; area.style.opacity = '0';
    document.body.append(area); area.select();
    try { document.execCommand('copy'); done(); } finally { area.remove(); }
  };
  if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, byHand); else byHand();
}
function fillCommands() {
  const schedule = shellQuote(data.schedule.file || 'schedule.heddle');
  for (const [text, what] of [['heddle replay ' + schedule, 'the same run again'], ['heddle replay ' + schedule + ' --gdb', 'in gdb; heddle-next-switch runs to the next switch'], ['heddle replay ' + schedule + ' --times 100', 'is it the same each time?']]) {
    const button = make('button', {type: 'button', 'aria-label': 'Copy: ' + text}, 'copy');
    button.addEventListener('click', () => { copy(text); button.textContent = 'copied'; setTimeout(() => { button.textContent = 'copy'; }, 1500); });
    $('commands').append(make('div', {class: 'command'}, make('code', {}, text), button, make('span', {}, what)));
  }
}
function fillNotes() {
  const note = text => $('notes').append(make('li', {}, text));
  note('Found by ' + data.origin + '; the schedule has ' + plural(data.schedule.events, 'event') + ' under the memory model ' + data.memory_model.toUpperCase() + '.');
  note(data.replays.runs ? 'Replayed in fresh processes: the same failure ' + data.replays.reproduced + ' of ' + data.replays.runs + ' times.' : 'It was not replayed for this report.');
  note('A pair of events is called decisive when a run in which the two came the other way round passed, and no smaller change had that effect.');
  if (!why.finished) note('The search for decisive pairs was stopped by its time limit or by Ctrl-C: there may be others.');
  if (data.left_out) note('The first ' + data.left_out + ' events are left out.');
  if (data.gap.events) note('Behind event ' + eventNumber(data.gap.at - 1) + ', ' + data.gap.events + ' events are left out.');
  for (const source of data.sources) if (source.missing) note('No text of ' + source.path + ': ' + source.missing);
  for (const text of data.assumptions) note(text);
}

// ---- light and dark
$('theme').addEventListener('click', () => {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = dark ? 'light' : 'dark';
  readColours(); draw();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { readColours(); draw(); });
window.addEventListener('resize', () => { layout(); drawList(); });

readColours();
fillHead();
fillPairs();
fillLanes();
fillTabs();
fillCommands();
fillNotes();
layout();
fillList();
$('timeline').setAttribute('aria-valuemax', String(performed));
const firstFile = (() => { for (const event of decisive.keys()) if (events[event] && events[event].file) return events[event].file; return data.failure.place && data.failure.place.file || (data.sources[0] && data.sources[0].file); })();
if (firstFile) showFile(firstFile);
const start = [...decisive.keys()].filter(i => i < performed).sort((a, b) => a - b)[0];
go(start === undefined ? performed - 1 : start);
})();
