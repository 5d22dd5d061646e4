// The map of the fabric: a slider over time colours the links. The data has,
// by variant and quantity, a byte for each link and bin of time.

function newMap() {
	const map = page.map, figure = document.getElementById('fabric');
	if (!map || !figure) return;
	const variants = element('select'), quantities = element('select');
	const slider = element('input', {type: 'range', min: 0, max: 0, value: 0}), whole = element('button', {type: 'button'}, 'Whole run');
	const output = element('output', {'aria-live': 'polite'});
	const controls = element('details', {class: 'map-controls'}, element('summary', {}, 'Move through time, and colour the links by what you choose'), element('div', {},
		element('label', {}, 'Variant ', variants), element('label', {}, 'Colour ', quantities),
		element('label', {class: 'map-time'}, 'Time ', slider), whole, output));
	const busiest = figure.querySelector('.map-busiest'), legend = figure.querySelector('.map-legend');
	legend.before(controls);
	const drawings = [...figure.querySelectorAll('svg.fabric')];
	const links = drawings.map(svg => [...svg.querySelectorAll('path[data-line]')]);
	const bytes = map.variants.map(v => v.values.map(text => text && atob(text)));
	map.variants.forEach((v, i) => variants.append(element('option', {value: i}, v.name)));
	variants.closest('label').hidden = map.variants.length < 2;
	let on = false, chosen = null;

	const variant = () => map.variants[+variants.value || 0];
	const quantity = () => map.quantities[+quantities.value || 0];
	const value = line => {
		const text = bytes[+variants.value || 0][+quantities.value || 0], v = variant();
		const byte = text ? text.charCodeAt(line * v.bins + Number(slider.value)) : 255;
		return byte === 255 ? null : byte;
	};
	const words = line => `${map.lines[line]}: ${value(line) === null ? 'no value' : `${value(line)} % ${quantity().verb}`}`;
	// Levels are those of the style sheet: 0 for next to nothing, up to 10.
	const level = v => {
		if (v === null) return 0;
		const share = quantity().low ? 100 - v : v;
		return share < 0.5 ? 0 : Math.ceil(share / 10);
	};
	const time = us => us < 1000 ? `${number(us)}\u00a0µs` : us < 1e6 ? `${number(us / 1000)}\u00a0ms` : `${number(us / 1e6)}\u00a0s`;

	function fillQuantities() {
		const had = quantities.value;
		quantities.replaceChildren(...map.quantities.map((q, i) => variant().values[i] && element('option', {value: i}, q.name)).filter(Boolean));
		if ([...quantities.options].some(o => o.value === had)) quantities.value = had;
		slider.max = variant().bins - 1;
	}

	function draw() {
		figure.classList.toggle('in-time', on);
		for (const e of [legend, busiest]) e.hidden = !on;
		whole.disabled = !on;
		const at = Number(slider.value) * variant().binUs;
		const text = on ? `${time(at)} to ${time(at + variant().binUs)}` : 'the whole run';
		slider.setAttribute('aria-valuetext', text);
		drawings.forEach((svg, d) => {
			svg.classList.toggle('mapped', on);
			for (const path of links[d]) {
				const l = level(value(+path.dataset.line));
				path.dataset.drawn ??= path.getAttribute('style');
				if (!on) path.setAttribute('style', path.dataset.drawn);
				else path.style.stroke = `var(--${l ? 's' + l : 'rule'})`;
				if (on) path.style.strokeWidth = (svg.classList.contains('crowded') ? 0.8 + 0.22 * l : 1.2 + 0.55 * l) + 'px';
				const title = path.querySelector('title');
				if (title) {
					title.dataset.whole ??= title.textContent;
					title.textContent = on ? words(+path.dataset.line) : title.dataset.whole;
				}
				path.classList.toggle('chosen', +path.dataset.line === chosen);
			}
			// The strongest on top.
			if (on) {
				const sorted = links[d].toSorted((a, b) => level(value(+a.dataset.line)) - level(value(+b.dataset.line)));
				const layer = sorted[0]?.parentNode, before = layer?.querySelector(':scope > :not(.link)');
				for (const path of sorted) layer.insertBefore(path, before);
			}
		});
		output.textContent = text + (chosen !== null ? ` · ${on ? words(chosen) : map.lines[chosen]}` : '');
		if (!on) return;
		legend.querySelectorAll('li span').forEach((e, i) => { e.textContent = quantity().legend[i]; });
		const worst = map.lines.map((_, i) => i).filter(i => level(value(i)) > 0).sort((a, b) => level(value(b)) - level(value(a)) || a - b).slice(0, 3);
		busiest.textContent = worst.length ? `Most loaded now: ${worst.map(words).join('; ')}.` : 'No link is used now.';
	}

	// The variant that the reader chooses for the page is the map's too.
	onVariants.push(chosen => {
		const i = map.variants.findIndex(v => chosen.has(v.name));
		if (i < 0 || i === +variants.value) return;
		variants.value = i;
		fillQuantities();
		slider.value = Math.min(slider.value, slider.max);
		if (on) draw();
	});

	const show = () => { on = true; draw(); };
	variants.addEventListener('change', () => { fillQuantities(); slider.value = Math.min(slider.value, slider.max); show(); });
	quantities.addEventListener('change', show);
	slider.addEventListener('input', show);
	whole.addEventListener('click', () => { on = false; chosen = null; draw(); });
	drawings.forEach((svg, d) => {
		svg.tabIndex = 0;
		const choose = line => { if (line !== chosen) { chosen = line; draw(); } };
		svg.addEventListener('pointerover', event => { if (on) choose(event.target.dataset?.line === undefined ? null : +event.target.dataset.line); });
		svg.addEventListener('blur', () => choose(null));
		svg.addEventListener('keydown', event => {
			const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
			if (!step || !links[d].length || event.ctrlKey || event.metaKey || event.altKey) return;
			choose(((chosen ?? (step > 0 ? -1 : 0)) + step + map.lines.length) % map.lines.length);
			event.preventDefault();
		});
	});
	addEventListener('beforeprint', () => { on = false; draw(); }); // paper has no slider
	fillQuantities();
	draw();
}
