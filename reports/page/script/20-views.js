// Views: a view is one drawing of a figure. A figure may have several, one for each width
// of the window.

// kinds says by kind of figure how a view answers. An entry has:
//   at(view, x, y)      the cursor at a place of the drawing, or null
//   step(view, cursor, key)  the cursor after an arrow key, Home or End; cursor may be null
//   describe(view, cursor)   {head, rows: [{series, name, text, strong}]} for the tooltip
//   show(view, cursor)  draws the cursor into view.cursorLayer
//   zoom(view)          optional: draws the span from view.from to view.to
const kinds = {};

const views = [];

// clocks holds, by clock, the span in µs that is shown, where it is not the whole.
const clocks = new Map();

function newView(svg) {
	const figure = figures.get(svg.dataset.figure);
	if (!figure || !kinds[figure.kind]) return;
	const [x, y, width, height] = svg.dataset.plot.split(' ').map(Number);
	const view = {svg, figure, kind: kinds[figure.kind], plot: {x, y, width, height}, from: figure.x.min, to: figure.x.max, cursor: null, off: new Set(), others: new Set()};
	// The title would cover the tooltip.
	const title = svg.querySelector(':scope > title');
	if (title) {
		svg.setAttribute('aria-label', title.textContent);
		title.remove();
	}
	svg.tabIndex = 0;
	svg.classList.add('live');
	if (figure.x.clock && view.kind.zoom) svg.classList.add('zooms');
	view.cursorLayer = drawing('g', {class: 'cursor', 'aria-hidden': 'true'});
	svg.append(view.cursorLayer);
	views.push(view);
	listen(view);
}

// A series is not shown while its entry of the legend is off, or while other variants than
// its own are chosen: view.off and view.others have its index.
const isOff = (view, i) => view.off.has(i) || view.others.has(i);

// showSeries shows or hides the elements of a series as the view's sets say.
function showSeries(view, i) {
	for (const e of view.svg.querySelectorAll(`[data-series="${i}"]`)) e.toggleAttribute('data-off', isOff(view, i));
	point(view, null);
}

// place returns the place of an event in the units of the drawing.
function place(view, event) {
	const box = view.svg.getBoundingClientRect(), scale = view.svg.viewBox.baseVal.width / box.width;
	return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
}

const xOf = (view, value) => view.plot.x + (value - view.from) / (view.to - view.from) * view.plot.width;
const valueAt = (view, x) => view.from + (x - view.plot.x) / view.plot.width * (view.to - view.from);
const yOf = (view, value) => view.plot.y + view.plot.height * (1 - (value - view.figure.y.min) / (view.figure.y.max - view.figure.y.min));
const within = (view, x, y) => x >= view.plot.x - 4 && x <= view.plot.x + view.plot.width + 4 && y >= view.plot.y - 4 && y <= view.plot.y + view.plot.height + 24;
const limit = (v, low, high) => Math.min(Math.max(v, low), high);

function listen(view) {
	const svg = view.svg;
	let drag = null; // where a drag began
	svg.addEventListener('pointermove', event => {
		const [x, y] = place(view, event);
		if (drag !== null) return select(view, drag, x);
		point(view, within(view, x, y) ? view.kind.at(view, x, y) : null, event);
	});
	svg.addEventListener('pointerdown', event => {
		const [x, y] = place(view, event);
		if (!within(view, x, y)) return;
		if (event.pointerType !== 'mouse') point(view, view.kind.at(view, x, y), event);
		if (event.button !== 0 || !svg.classList.contains('zooms')) return;
		drag = x;
		svg.setPointerCapture(event.pointerId);
	});
	svg.addEventListener('pointerup', event => {
		if (drag === null) return;
		const [from, to] = selection(view, drag, place(view, event)[0]);
		drag = null;
		view.selection?.remove();
		if (to - from > 8) zoomTo(view.figure.x.clock, microseconds(view, valueAt(view, from)), microseconds(view, valueAt(view, to)));
	});
	svg.addEventListener('pointercancel', () => { drag = null; view.selection?.remove(); point(view, null); });
	svg.addEventListener('pointerleave', event => { if (drag === null && event.pointerType === 'mouse') point(view, null); });
	svg.addEventListener('dblclick', () => { if (view.figure.x.clock) zoomTo(view.figure.x.clock, null); });
	svg.addEventListener('blur', () => point(view, null));
	svg.addEventListener('keydown', event => {
		if (event.ctrlKey || event.metaKey || event.altKey) return;
		if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key)) {
			point(view, view.kind.step(view, view.cursor, event.key, event.shiftKey ? 10 : 1), null);
		} else if (/^[-+=]$/.test(event.key) && svg.classList.contains('zooms')) {
			zoomBy(view, event.key === '-' ? 2 : 0.5);
		} else {
			return;
		}
		event.preventDefault();
	});
}

const microseconds = (view, value) => value * view.figure.x.us;

function selection(view, a, b) {
	const edge = x => limit(x, view.plot.x, view.plot.x + view.plot.width);
	return [Math.min(edge(a), edge(b)), Math.max(edge(a), edge(b))];
}

// select shows the span that a drag selects.
function select(view, a, b) {
	const [from, to] = selection(view, a, b);
	view.selection?.remove();
	view.selection = drawing('rect', {class: 'selection', x: from, y: view.plot.y, width: to - from, height: view.plot.height});
	view.svg.append(view.selection);
	point(view, null);
}

// zoomBy widens or narrows the span that is shown, about the cursor.
function zoomBy(view, factor) {
	const middle = typeof view.cursor === 'number' ? view.cursor : (view.from + view.to) / 2;
	const width = Math.min((view.to - view.from) * factor, view.figure.x.max - view.figure.x.min);
	const from = limit(middle - width / 2, view.figure.x.min, view.figure.x.max - width);
	zoomTo(view.figure.x.clock, microseconds(view, from), microseconds(view, from + width));
}

// zoomTo shows a span, in µs, in all views of a clock, or the whole when it is null.
function zoomTo(clock, from, to) {
	const ends = views.filter(v => v.figure.x.clock === clock).map(v => microseconds(v, v.figure.x.max));
	const whole = from === null || from <= 0 && to >= Math.max(...ends) * (1 - 1e-9);
	if (whole) clocks.delete(clock);
	else clocks.set(clock, {from, to});
	for (const view of views) {
		if (view.figure.x.clock !== clock || !view.kind.zoom) continue;
		const x = view.figure.x;
		view.from = whole ? x.min : from / x.us;
		view.to = whole ? x.max : to / x.us;
		view.svg.classList.toggle('zoomed', !whole);
		view.ticks?.remove();
		view.kind.zoom(view);
		if (!whole) drawTicks(view);
		point(view, null);
	}
	showZoom();
}

// drawTicks draws the x axis of a view that does not show the whole.
function drawTicks(view) {
	const span = view.to - view.from, y = view.plot.y + view.plot.height;
	const power = 10 ** Math.floor(Math.log10(span / 4));
	const step = [1, 2, 2.5, 5, 10].map(f => f * power).find(s => span / s <= 5);
	const decimals = Math.max(0, Math.ceil(-Math.log10(power)) + (step / power === 2.5 ? 1 : 0));
	view.ticks = drawing('g', {class: 'ticks', 'aria-hidden': 'true'});
	for (let k = Math.ceil(view.from / step - 1e-9); k * step <= view.to * (1 + 1e-12); k++) {
		const x = xOf(view, k * step), [whole, fraction] = (k * step).toFixed(Math.min(decimals, 20)).split('.');
		view.ticks.append(drawing('path', {d: `M${x} ${y}v4`}),
			drawing('text', {x, y: y + 15}, grouped(whole) + (fraction ? '.' + fraction : '')));
	}
	view.svg.append(view.ticks);
}

// clipped makes a layer of a drawing that shows what is in the plot area, or also what is
// above and below it. It is drawn before an element, in the units of the view box.
function clipped(view, before, tall) {
	const id = `clip-${views.indexOf(view)}${tall ? '-tall' : ''}`;
	if (!view.svg.querySelector('#' + id)) {
		const area = tall ? {...view.plot, y: 0, height: view.svg.viewBox.baseVal.height} : view.plot;
		view.svg.append(drawing('clipPath', {id}, drawing('rect', area)));
	}
	const layer = drawing('g', {'clip-path': `url(#${id})`});
	const parent = before?.parentNode ?? view.svg;
	const m = parent !== view.svg && parent.transform.baseVal.consolidate()?.matrix.inverse();
	if (m) layer.setAttribute('transform', `matrix(${m.a} ${m.b} ${m.c} ${m.d} ${m.e} ${m.f})`);
	parent.insertBefore(layer, before ?? null);
	return layer;
}
