// Bars and matrices. The cursor is {row, column}; of bars the column is the part.

const cellAt = (view, cursor) => view.figure.series[cursor.row]?.values[cursor.column];

function moved(cursor, key, rows, columns, times) {
	if (cursor === null) return {row: 0, column: 0};
	let {row, column} = cursor;
	switch (key) {
	case 'ArrowLeft': column -= times; break;
	case 'ArrowRight': column += times; break;
	case 'ArrowUp': row -= times; break;
	case 'ArrowDown': row += times; break;
	case 'Home': column = 0; break;
	case 'End': column = columns - 1; break;
	}
	return {row: limit(row, 0, rows - 1), column: limit(column, 0, columns - 1)};
}

kinds.bars = {
	at(view, x, y) {
		const bars = view.figure.y.names.length;
		const row = limit(Math.floor((y - view.plot.y) / view.plot.height * bars), 0, bars - 1);
		let end = 0;
		const column = view.figure.series.findIndex(s => (end += s.values[row]) >= valueAt(view, x));
		return {row, column};
	},
	step: (view, cursor, key, times) => moved(cursor, key, view.figure.y.names.length, view.figure.series.length, times),
	describe(view, {row, column}) {
		const rows = view.figure.series.map((s, i) => ({series: s, name: s.name, text: quantity(s.values[row], view.figure.x), strong: i === column}));
		return {head: view.figure.y.names[row], rows: rows.filter((r, i) => view.figure.series[i].values[row] > 0)};
	},
	show(view, {row, column}) {
		const start = view.figure.series.slice(0, Math.max(column, 0)).reduce((sum, s) => sum + s.values[row], 0);
		view.tipX = xOf(view, start);
		if (column < 0) return;
		const height = view.plot.height / view.figure.y.names.length;
		view.cursorLayer.append(drawing('rect', {x: xOf(view, start), y: view.plot.y + row * height + height * 0.16,
			width: Math.max(0, xOf(view, start + view.figure.series[column].values[row]) - xOf(view, start)), height: height * 0.68}));
	},
};

const columnsOf = figure => figure.series[0]?.values.length ?? 0;

kinds.matrix = {
	at(view, x, y) {
		const {series, x: axis} = view.figure;
		const row = Math.floor((y - view.plot.y) / view.plot.height * series.length);
		const column = axis.step ? Math.floor((valueAt(view, x) - axis.start) / axis.step) : Math.floor((x - view.plot.x) / view.plot.width * columnsOf(view.figure));
		return row < 0 || row >= series.length || column < 0 || column >= columnsOf(view.figure) ? null : {row, column};
	},
	step: (view, cursor, key, times) => moved(cursor, key, view.figure.series.length, columnsOf(view.figure), times),
	describe(view, cursor) {
		const {x, y, series, value} = view.figure;
		const column = x.names ? `${x.name ? x.name + ' ' : ''}${x.names[cursor.column]}` : `${x.name} ${number(x.start + cursor.column * x.step)} to ${quantity(x.start + (cursor.column + 1) * x.step, x)}`;
		const cell = cellAt(view, cursor);
		const text = value?.names ? value.names[cell] ?? missing : quantity(cell, value ?? {});
		return {head: `${y.name ? y.name + ' ' : ''}${series[cursor.row].name}`, rows: [{name: column, text: ''}, {name: value?.name ?? '', text}]};
	},
	show(view, {row, column}) {
		const {x: axis, series} = view.figure, height = view.plot.height / series.length;
		const edge = c => axis.step ? xOf(view, axis.start + c * axis.step) : view.plot.x + view.plot.width * c / columnsOf(view.figure);
		const left = Math.max(edge(column), view.plot.x), right = Math.min(edge(column + 1), view.plot.x + view.plot.width);
		view.tipX = left;
		if (right > left) view.cursorLayer.append(drawing('rect', {x: left, y: view.plot.y + row * height, width: right - left, height}));
	},
	// The elements of data-part="cells", and "spans" above them, are moved and stretched
	// sideways.
	zoom(view) {
		const {min, max} = view.figure.x, k = (max - min) / (view.to - view.from), left = view.plot.x;
		for (const cells of view.svg.querySelectorAll('[data-part="cells"], [data-part="spans"]')) {
			if (!cells.parentNode.classList.contains('clipped')) {
				const layer = clipped(view, cells, cells.dataset.part === 'spans');
				layer.classList.add('clipped');
				layer.removeAttribute('transform');
				layer.append(cells);
			}
			const shift = left - k * (left + (view.from - min) / (max - min) * view.plot.width);
			cells.setAttribute('transform', `matrix(${k} 0 0 1 ${shift} 0)`);
		}
	},
};
