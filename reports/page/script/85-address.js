// The address: its fragment names a part and the variants that are chosen, so that a link
// quotes both: #part&variant=a&variant=b. A closed part that it names is opened.

function readFragment() {
	const [anchor, ...rest] = location.hash.slice(1).split('&');
	return {anchor, variants: new URLSearchParams(rest.join('&')).getAll('variant')};
}

function writeFragment(anchor) {
	const rest = new URLSearchParams([...chosenVariants].map(name => ['variant', name])).toString();
	const fragment = '#' + anchor + (rest && '&' + rest);
	if (fragment !== (location.hash || '#')) history.replaceState(null, '', fragment);
}

function quoteVariants() { writeFragment(readFragment().anchor); }

// goTo shows the place of an anchor.
function goTo(anchor) {
	const target = anchor && document.getElementById(anchor);
	if (!target) return;
	target.querySelector(':scope > details')?.setAttribute('open', '');
	for (let e = target; e; e = e.parentElement) if (e.localName === 'details') e.open = true;
	target.scrollIntoView();
}

// A link to a part names no variant: the choice stays. An address that names some is that
// of a quoted link.
function follow() {
	const {anchor, variants} = readFragment();
	const known = variants.filter(name => page.variants?.includes(name));
	if (known.length > 0) {
		chosenVariants.clear();
		for (const name of known) chosenVariants.add(name);
		applyVariants();
	}
	writeFragment(anchor);
	goTo(anchor);
}

// The entry of the contents whose part is at the top of the window is marked.
function newContents() {
	const links = [...document.querySelectorAll('.contents a')], ids = [...new Set(links.map(a => a.hash.slice(1)))];
	const parts = ids.map(id => document.getElementById(id)).filter(Boolean);
	const menu = document.querySelector('.contents-menu');
	for (const link of links) link.addEventListener('click', () => {
		if (menu) menu.open = false;
		if (link.hash === location.hash.split('&')[0]) goTo(link.hash.slice(1)); // no change of the address
	});
	let waits = false;
	const mark = () => {
		waits = false;
		// The parts of a row begin at one height: the first of them is the current one.
		let current = parts[0], top = -Infinity;
		for (const part of parts) {
			const y = part.getBoundingClientRect().top;
			if (y <= innerHeight * 0.25 && y > top + 1) [current, top] = [part, y];
		}
		for (const link of links) {
			if (link.hash.slice(1) === current?.id) link.setAttribute('aria-current', 'location');
			else link.removeAttribute('aria-current');
		}
	};
	addEventListener('scroll', () => { if (!waits) { waits = true; requestAnimationFrame(mark); } }, {passive: true});
	mark();
}

// newOpener makes a button that opens all closed parts.
function newOpener() {
	const group = document.querySelector('.quiet-parts'), all = [...document.querySelectorAll('.quiet > details')];
	if (all.length < 2) return;
	const opener = element('button', {type: 'button', class: 'open-all'}, 'Open all');
	opener.addEventListener('click', () => {
		const open = all.some(d => !d.open);
		for (const d of all) d.open = open;
		opener.textContent = open ? 'Close all' : 'Open all';
	});
	(group.querySelector(':scope > p') ?? group).append(opener);
}

function newHint() {
	if (views.length === 0) return;
	const hint = element('p', {class: 'hint'}, 'Charts show exact values under the pointer, and under the arrow keys when they have the focus. Drag across a chart over time to zoom all of them; a double click, Esc or the button at the lower right shows all again. Entries of legends hide and show their series.');
	const fold = element('details', {class: 'hint'}, element('summary', {}, 'How to read charts'), hint);
	document.getElementById('parts').before(fold);
}
