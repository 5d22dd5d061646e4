// The data of the page's figures, and how numbers read.

// page is the data block. A figure has an id, a kind, axes x and y, and series.
const page = JSON.parse(document.getElementById('data').textContent);
const figures = new Map(page.figures.map(f => [f.id, decodeFigure(f)]));

// onVariants has functions that are called with the set of variants that the reader chose.
const onVariants = [];

function decodeFigure(f) {
	f.x.start ??= 0;
	for (const s of f.series) {
		s.start ??= 0;
		for (const key of ['values', 'xs', 'low', 'high']) s[key] = decode(s[key]);
	}
	return f;
}

// decode returns numbers, null where there is none: from an array, or from words that
// count quanta.
function decode(n) {
	if (!n || Array.isArray(n)) return n;
	const bytes = atob(n.words), values = [];
	for (let i = 0; i < bytes.length; i += 2) {
		const word = bytes.charCodeAt(i) | bytes.charCodeAt(i + 1) << 8;
		values.push(word === 65535 ? null : n.min + n.quantum * word);
	}
	return values;
}

const missing = '–';

// number prints a value like the text of the page: with four significant digits, its
// whole part in groups of three.
function number(v) {
	if (v === null || v === undefined || !isFinite(v)) return missing;
	const a = Math.abs(v);
	const decimals = a > 0 && a < 1000 ? Math.min(3 - Math.floor(Math.log10(a)), 12) : 0;
	let [whole, fraction = ''] = a.toFixed(decimals).split('.');
	fraction = fraction.replace(/0+$/, '');
	return (v < 0 ? '−' : '') + grouped(whole) + (fraction && '.' + fraction);
}

function grouped(whole) {
	return whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, '\u202f') : whole;
}

// quantity prints a value with the unit of an axis.
function quantity(v, axis) {
	const text = number(v);
	return text === missing || !axis.unit ? text : text + '\u00a0' + axis.unit;
}

// element makes an element of the page with attributes and children; text is a child too.
function element(name, attributes = {}, ...children) {
	return fill(document.createElement(name), attributes, children);
}

// drawing makes an element of a drawing.
function drawing(name, attributes = {}, ...children) {
	return fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);
}

function fill(e, attributes, children) {
	for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
	e.append(...children);
	return e;
}
