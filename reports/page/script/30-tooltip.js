// The tooltip, and the bar that is shown while the page shows a span of time.

const tip = element('div', {class: 'tip', role: 'status', hidden: ''});
const zoomText = element('span', {role: 'status'});
const zoomReset = element('button', {type: 'button'}, 'Show all');
const zoomBar = element('div', {class: 'zoombar', hidden: ''}, zoomText, zoomReset);

// point moves the cursor of a view, or removes it when it is null. Without a pointer's
// event it was moved by a key: then the tooltip is announced.
function point(view, cursor, event) {
	view.cursor = cursor;
	for (const other of views) other.cursorLayer.replaceChildren();
	if (cursor === null || cursor === undefined) {
		view.cursor = null;
		tip.hidden = true;
		return;
	}
	view.kind.show(view, cursor);
	if (view.figure.x.clock && typeof cursor === 'number') {
		for (const other of views) {
			if (other !== view && other.figure.x.clock === view.figure.x.clock) crossLine(other, cursor * view.figure.x.us / other.figure.x.us);
		}
	}
	const text = view.kind.describe(view, cursor);
	tip.setAttribute('aria-live', event ? 'off' : 'polite');
	tip.replaceChildren(element('strong', {}, text.head), ...text.rows.map(row => {
		const line = element('span', {class: row.strong ? 'row strong' : 'row'});
		if (row.series) line.append(sample(row.series, view.figure.kind));
		line.append(element('span', {class: 'name'}, row.name), ' ', element('span', {class: 'value'}, row.text));
		return line;
	}));
	tip.hidden = false;
	const box = view.svg.getBoundingClientRect(), scale = box.width / view.svg.viewBox.baseVal.width;
	const [x, y] = event ? [event.clientX, event.clientY] : [box.left + view.tipX * scale, box.top + view.plot.y * scale];
	const width = tip.offsetWidth, height = tip.offsetHeight;
	tip.style.left = limit(x + 14 + width > innerWidth ? x - 14 - width : x + 14, 4, Math.max(4, innerWidth - width - 4)) + 'px';
	tip.style.top = limit(y + 14 + height > innerHeight ? y - 14 - height : y + 14, 4, Math.max(4, innerHeight - height - 4)) + 'px';
}

// crossLine draws a line down a view at a value of its x axis.
function crossLine(view, value) {
	const x = xOf(view, value);
	view.tipX = x;
	if (x >= view.plot.x - 1 && x <= view.plot.x + view.plot.width + 1) {
		view.cursorLayer.append(drawing('path', {d: `M${x} ${view.plot.y}v${view.plot.height}`}));
	}
}

// sample draws a sample of a series.
function sample(series, kind) {
	const svg = drawing('svg', {class: 'swatch', viewBox: '0 0 26 12', 'aria-hidden': 'true'});
	const colour = `var(${series.colour ?? '--ink'})`;
	if (kind === 'lines') svg.append(drawing('path', {d: 'M0 6H26', style: `stroke:${colour};stroke-width:2.2;stroke-dasharray:${series.dashes ?? 'none'}`}));
	else svg.append(drawing('rect', {x: 5, width: 16, height: 12, rx: 2, style: `fill:${colour}`}));
	return svg;
}

// showZoom says which span of time the page shows.
function showZoom() {
	zoomBar.hidden = clocks.size === 0;
	zoomText.textContent = [...clocks].map(([clock, {from, to}]) => {
		const x = views.find(v => v.figure.x.clock === clock).figure.x;
		return `Charts show ${number(from / x.us)} to ${quantity(to / x.us, x)}`;
	}).join('; ');
}

zoomReset.addEventListener('click', () => { for (const clock of [...clocks.keys()]) zoomTo(clock, null); });

document.addEventListener('keydown', event => {
	if (event.key !== 'Escape') return;
	if (!tip.hidden) views.forEach(v => v.cursor !== null && point(v, null));
	else for (const clock of [...clocks.keys()]) zoomTo(clock, null);
});
