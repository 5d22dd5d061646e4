// Entries of legends become buttons that hide and show their series in all drawings of
// the figure.

function newLegend(legend) {
	const scope = legend.closest('.figure, figure[id]');
	const own = views.filter(v => scope?.contains(v.svg));
	for (const item of legend.children) {
		const name = item.textContent.trim();
		const isSeries = s => s.name === name;
		if (!own.some(v => v.figure.series.some(isSeries))) continue;
		if (page.variants?.includes(name)) item.dataset.variant = name;
		const key = element('button', {type: 'button', class: 'key', 'aria-pressed': 'true'}, ...item.childNodes);
		item.append(key);
		key.addEventListener('click', () => {
			const on = key.getAttribute('aria-pressed') !== 'true';
			key.setAttribute('aria-pressed', on);
			for (const view of own) {
				view.figure.series.forEach((s, i) => {
					if (!isSeries(s)) return;
					if (on) view.off.delete(i);
					else view.off.add(i);
					showSeries(view, i);
				});
			}
		});
	}
}
