// Lines over time or over another quantity. The cursor is a value of the x axis.

// indexAt returns the index of the point of a line at a value of the x axis: at equal
// steps the nearest one, or else the last one that is not beyond it.
function indexAt(s, x, near) {
	if (s.step) return Math.round((x - s.start) / s.step);
	const xs = s.xs ?? [s.start];
	let low = -1;
	for (let i = 0; i < xs.length; i++) {
		if (xs[i] === null || xs[i] === undefined) continue;
		if (near ? low < 0 || Math.abs(xs[i] - x) < Math.abs(xs[low] - x) : xs[i] <= x) low = i;
	}
	return low;
}

const pointX = (s, i) => s.step ? s.start + i * s.step : (s.xs ?? [s.start])[i];

// snapped returns the value of the nearest point of a line that is shown.
function snapped(view, x) {
	let best = null;
	view.figure.series.forEach((s, i) => {
		if (isOff(view, i)) return;
		const at = pointX(s, limit(indexAt(s, x, true), 0, s.values.length - 1));
		if (at !== null && at !== undefined && (best === null || Math.abs(at - x) < Math.abs(best - x))) best = at;
	});
	return best;
}

kinds.lines = {
	at: (view, x) => snapped(view, limit(valueAt(view, x), view.from, view.to)),

	step(view, cursor, key, times) {
		if (key === 'Home') return snapped(view, view.from);
		if (key === 'End') return snapped(view, view.to);
		if (cursor === null) return snapped(view, (view.from + view.to) / 2);
		const way = key === 'ArrowRight' || key === 'ArrowUp' ? 1 : -1;
		let x = cursor;
		for (let k = 0; k < times; k++) {
			let next = null; // the nearest point beyond
			view.figure.series.forEach((s, i) => {
				if (isOff(view, i)) return;
				const at = indexAt(s, x, true);
				for (const j of s.step ? [at - 1, at, at + 1] : s.values.keys()) {
					const px = pointX(s, j);
					if (j < 0 || j >= s.values.length || px === null || !(way * (px - x) > 1e-9 * Math.abs(x) + 1e-12)) continue;
					if (next === null || way * (next - px) > 0) next = px;
				}
			});
			if (next === null || next < view.from || next > view.to) break;
			x = next;
		}
		return x;
	},

	describe(view, cursor) {
		const {x, y, series} = view.figure, rows = [];
		series.forEach((s, i) => {
			if (isOff(view, i)) return;
			const at = indexAt(s, cursor);
			const value = at >= 0 && at < s.values.length ? s.values[at] : null;
			let text = quantity(value, y);
			if (s.low && !s.beside && value !== null) text += ` (${number(s.low[at])} … ${number(s.high[at])})`;
			rows.push({series: s, name: s.name, text});
		});
		return {head: `${x.name} ${x.clock ? '' : '≤ '}${quantity(cursor, x)}`, rows};
	},

	show(view, cursor) {
		crossLine(view, cursor);
		view.figure.series.forEach((s, i) => {
			const at = indexAt(s, cursor), value = s.values[at];
			if (isOff(view, i) || value === null || value === undefined) return;
			view.cursorLayer.append(drawing('circle', {cx: xOf(view, cursor), cy: yOf(view, value), r: 3.2, style: `fill:var(${s.colour})`}));
		});
	},

	zoom(view) {
		view.layer?.remove();
		view.layer = null;
		if (!clocks.has(view.figure.x.clock)) return;
		view.layer = clipped(view, view.svg.querySelector('[data-part="shade"], [data-series]'));
		const shade = view.svg.querySelector('[data-part="shade"]');
		if (shade) {
			// Its edges are places of the whole axis.
			const {min, max} = view.figure.x, all = shade.getAttribute('d').match(/[\d.]+/g).map(Number).filter((_, i) => i % 2 === 0);
			const [left, right] = [Math.min(...all), Math.max(...all)].map(x => xOf(view, min + (x - view.plot.x) / view.plot.width * (max - min)));
			view.layer.append(drawing('rect', {class: 'shade', x: left, y: view.plot.y, width: right - left, height: view.plot.height}));
		}
		view.figure.series.forEach((s, i) => {
			const off = isOff(view, i) ? {'data-off': ''} : {};
			if (s.low && !s.beside) {
				view.layer.append(drawing('path', {...off, 'data-series': i, d: bandPath(view, s), style: `fill:var(${s.colour});fill-opacity:.16`}));
			}
			view.layer.append(drawing('path', {...off, 'data-series': i, d: linePath(view, s), style: `fill:none;stroke:var(${s.colour});stroke-width:1.6;stroke-linejoin:round;stroke-dasharray:${s.dashes ?? 'none'}`}));
		});
	},
};

// shownRange returns the first and the last point of a line that a view needs: those in
// the span and one on each side.
function shownRange(view, s) {
	const last = s.values.length - 1;
	if (!s.step) return [0, last];
	return [limit(Math.floor((view.from - s.start) / s.step), 0, last), limit(Math.ceil((view.to - s.start) / s.step), 0, last)];
}

const round = v => Math.round(v * 100) / 100;

function linePath(view, s) {
	const [first, last] = shownRange(view, s);
	let d = '', pen = 'M';
	for (let i = first; i <= last; i++) {
		const v = s.values[i];
		if (v === null) { pen = 'M'; continue; }
		const x = xOf(view, pointX(s, i)), y = yOf(view, v);
		d += `${pen}${round(x)} ${round(y)}`;
		if (pen === 'M' && (i === last || s.values[i + 1] === null)) d += 'h1'; // a point alone
		pen = 'L';
	}
	return d;
}

function bandPath(view, s) {
	const [first, last] = shownRange(view, s);
	let d = '', up = [], down = [];
	const flush = () => {
		if (up.length > 1) d += 'M' + up.concat(down.reverse()).join('L') + 'Z';
		up = []; down = [];
	};
	for (let i = first; i <= last; i++) {
		if (s.low[i] === null || s.high[i] === null) { flush(); continue; }
		const x = round(xOf(view, pointX(s, i)));
		up.push(`${x} ${round(yOf(view, s.high[i]))}`);
		down.push(`${x} ${round(yOf(view, s.low[i]))}`);
	}
	flush();
	return d;
}
