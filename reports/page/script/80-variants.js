// Variants are chosen once for the whole page. While some are chosen, rows, columns, panels
// and series of the others are not shown.

const chosenVariants = new Set(); // empty: all are shown

// isOther reports whether a variant is one that is not shown. Some things are of none.
const isOther = name => !!name && chosenVariants.size > 0 && page.variants.includes(name) && !chosenVariants.has(name);

const chips = new Map(); // by variant; '' stands for all

function newChips() {
	if (!(page.variants?.length > 1)) return;
	const bar = element('div', {class: 'chips', role: 'group', 'aria-label': 'Variants that the page shows'}, element('span', {class: 'soft'}, 'Show'));
	for (const name of ['', ...page.variants]) {
		const chip = element('button', {type: 'button', class: 'chip', title: name || 'All variants'}, name || 'All variants');
		chip.addEventListener('click', () => {
			if (!name) chosenVariants.clear();
			else if (!chosenVariants.delete(name)) chosenVariants.add(name);
			if (chosenVariants.size === page.variants.length) chosenVariants.clear();
			applyVariants();
			quoteVariants();
		});
		chips.set(name, chip);
		bar.append(chip);
	}
	document.getElementById('content').prepend(bar);
	applyVariants();
}

function applyVariants() {
	for (const [name, chip] of chips) chip.setAttribute('aria-pressed', name ? chosenVariants.has(name) : chosenVariants.size === 0);
	for (const e of document.querySelectorAll('[data-variant]')) e.toggleAttribute('data-other', isOther(e.dataset.variant));
	for (const view of views) {
		view.figure.series.forEach((s, i) => {
			const other = isOther(s.name);
			if (other === view.others.has(i)) return;
			if (other) view.others.add(i);
			else view.others.delete(i);
			showSeries(view, i);
		});
	}
	for (const apply of refresh) apply();
	// A table or figure of other variants alone says so.
	for (const block of document.querySelectorAll('.tabled, .figure')) {
		const own = [...block.querySelectorAll('tbody > tr, .panels > figure')];
		const lacks = own.length > 0 && own.every(e => 'other' in e.dataset);
		if (lacks && !block.querySelector('.none')) block.append(element('p', {class: 'note none'}, 'It shows variants that are not chosen.'));
		block.classList.toggle('lacks', lacks);
	}
	// A part of nothing else is not shown, nor is it in the contents.
	for (const part of document.querySelectorAll('.part')) {
		const blocks = [...part.querySelectorAll('.tabled, .figure')];
		const other = blocks.length > 0 && blocks.every(b => b.classList.contains('lacks')) && !part.querySelector('.prose, .query');
		part.toggleAttribute('data-other', other);
		for (const link of document.querySelectorAll(`.contents a[href="#${CSS.escape(part.id)}"]`)) link.parentNode.toggleAttribute('data-other', other);
	}
	for (const follow of onVariants) follow(chosenVariants);
}
