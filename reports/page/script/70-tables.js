// Tables: sorted by a column, filtered by a text, and cut off where they are long.

const rowsToFilter = 8;

// A row is a block on a phone, so fewer are shown at first.
const phone = matchMedia('(max-width: 620px)');
const rowsShown = () => phone.matches ? 5 : 12;


// factors are the sizes of units, so that "1.2 ms" comes after "900 µs".
const factors = {ns: 1e-9, 'µs': 1e-6, ms: 1e-3, s: 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, KiB: 1024, MiB: 2 ** 20, 'b/s': 1, 'kb/s': 1e3, 'Mb/s': 1e6, 'Gb/s': 1e9};

// numberIn returns the first number of a text, in the base unit, or null.
function numberIn(text) {
	const found = /^[^\d−–-]{0,3}([−-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([\p{L}/]*)/u.exec(text.trim().replace(/[\u202f]/g, ''));
	return found ? Number(found[1].replace('−', '-')) * (factors[found[2]] ?? 1) : null;
}

// refresh has a function for each table that draws its rows again.
const refresh = [];

const collator = new Intl.Collator(undefined, {numeric: true});

// compareCells compares texts, of a column of numbers by their values; texts without a
// number come last.
function compareCells(a, b, numeric, way) {
	if (!numeric) return way * collator.compare(a, b);
	const x = numberIn(a), y = numberIn(b);
	if (x === null || y === null) return (x === null) - (y === null) || way * collator.compare(a, b);
	return way * (x - y);
}

function newTable(table) {
	scrolls(table.parentNode);
	const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
	if (rows.length < 2) return;
	const state = {column: -1, way: 1, filter: '', all: false};
	const more = element('button', {type: 'button', class: 'more-rows'}), count = element('span', {class: 'note', role: 'status'});
	const sort = element('select', {'aria-label': 'Sort by'}, element('option', {value: '-1'}, 'Sort by …'));

	function apply() {
		const order = [...rows];
		const numeric = state.column >= 0 && heads[state.column].classList.contains('n');
		if (state.column >= 0) order.sort((a, b) => compareCells(a.cells[state.column].textContent, b.cells[state.column].textContent, numeric, state.way));
		const wanted = state.filter.toLowerCase();
		let matching = 0;
		const shown = state.all || rows.length <= 1.4 * rowsShown() ? Infinity : rowsShown();
		for (const row of order) {
			const match = !('other' in row.dataset) && (!wanted || row.textContent.toLowerCase().includes(wanted));
			row.classList.toggle('out', !match);
			row.classList.toggle('beyond', match && matching >= shown);
			matching += match;
		}
		body.append(...order);
		heads.forEach((h, i) => {
			if (i === state.column) h.setAttribute('aria-sort', state.way > 0 ? 'ascending' : 'descending');
			else h.removeAttribute('aria-sort');
		});
		sort.value = state.column < 0 ? '-1' : `${state.column},${state.way}`;
		more.hidden = matching <= shown;
		more.textContent = `Show all ${grouped(String(matching))} rows`;
		count.textContent = wanted ? `${grouped(String(matching))} of ${grouped(String(rows.length))} rows` : '';
	}

	heads.forEach((head, i) => {
		const name = head.textContent;
		head.replaceChildren(element('button', {type: 'button', class: 'sort'}, name));
		head.firstChild.addEventListener('click', () => {
			// Upwards, downwards, as it was.
			if (state.column !== i) [state.column, state.way] = [i, 1];
			else if (state.way > 0) state.way = -1;
			else state.column = -1;
			apply();
		});
		for (const [way, mark] of [[1, '↑'], [-1, '↓']]) sort.append(element('option', {value: `${i},${way}`}, `${name} ${mark}`));
	});
	sort.addEventListener('change', () => {
		[state.column, state.way = 1] = sort.value.split(',').map(Number);
		apply();
	});
	const tools = element('div', {class: 'tools'}, sort);
	if (rows.length >= rowsToFilter) {
		const name = table.getAttribute('aria-label');
		const filter = element('input', {type: 'search', placeholder: 'Filter rows', 'aria-label': name ? `Filter rows of ${name}` : 'Filter rows', spellcheck: 'false'});
		filter.addEventListener('input', () => { state.filter = filter.value.trim(); apply(); });
		tools.prepend(filter, count);
	}
	table.parentNode.before(tools);
	more.addEventListener('click', () => { state.all = true; apply(); });
	table.parentNode.after(more);
	refresh.push(apply);
	apply();
}

// scrolls makes a table that is wider than its place one that keys can scroll. Its first
// column stays.
function scrolls(frame) {
	const label = frame.firstElementChild.getAttribute('aria-label');
	new ResizeObserver(() => {
		const wide = frame.scrollWidth > frame.clientWidth + 1;
		if (wide === frame.classList.contains('scrolls')) return;
		frame.classList.toggle('scrolls', wide);
		if (wide) fill(frame, {tabindex: '0', role: 'region', 'aria-label': label}, []);
		else for (const name of ['tabindex', 'role', 'aria-label']) frame.removeAttribute(name);
	}).observe(frame);
}

phone.addEventListener('change', () => { for (const apply of refresh) apply(); });
