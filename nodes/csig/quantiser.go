package csig

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/units"
)

// Quantiser maps the raw values of one type to codes. It is given by Name, or
// explicitly by Edges (compact) or Step (wide); the zero value is the default
// of the type and format (docs/reference/references.md#wide-quantiser, #compact-quantisers):
//
//	          compact            wide
//	abw       abw-geo(MaxRate)   linear with the smallest step, at least 2^17 B/s, that covers MaxRate
//	abw-c     pct-lin32          linear(1ppm)
//	delay     delay-geo          linear(16ns)
//	nqd       pct-lin32          linear(1ppm)
//
// Types of modules have the defaults that their Signal says. Names for the compact format:
// abw-geo(RATE), abw-geo alone for MaxRate, pct-lin32, delay-geo, delay-lin(STEP), also
// written delay-lin-STEP, and edges(V, V, …), which may be followed by
// bands(CODE, CODE, …); for types of modules also even(STEP), 32 ranges of equal width, and
// geo(FIRST), whose ranges begin at 0 and FIRST·2^((i-1)/3) like those of delay-geo. For the
// wide format: linear(STEP) and linear(STEP, BASE). Values carry the unit of the type: a rate
// for abw, % or ppm for abw-c and nqd, a duration for delay; a count has none.
type Quantiser struct {
	Name string
	// Edges are the lower edges of 2 to 32 ranges in the raw unit, ascending
	// from 0. The last range is open; the others end where the next begins.
	Edges []uint64
	// Bands are the codes of the ranges, different and below 32; nil: 0, 1, ….
	Bands []uint8
	// Step is the width of a code, a power of two up to 2^31 in the raw unit.
	Step uint64
	// Base is the lower edge of code 0: 0, or a power of two up to 2^31.
	Base uint64

	top       uint64 // where the open range would end if it went on like the others
	geometric bool   // the ranges grow by a constant ratio
}

// ErrQuantiser reports a quantiser that cannot be used.
var ErrQuantiser = errors.New("unusable quantiser")

const maxStep = 1 << 31 // SAI holds base and step in 32 bits

// resolve turns a name or a zero value into edges or a step and checks them.
func (q Quantiser) resolve(t *Signal, f Format, maxRate units.Rate) (Quantiser, error) {
	explicit := q.Edges != nil || q.Bands != nil || q.Step != 0 || q.Base != 0
	if f == FormatNone {
		return Quantiser{}, nil
	}
	if q.Name != "" && explicit {
		return q, fmt.Errorf("%q: %w: both a name and explicit values", q.Name, ErrQuantiser)
	}
	if !explicit {
		text := q.Name
		if text == "" {
			text = defaultQuantiser(t, f, maxRate)
		} else if text == "abw-geo" {
			text = geometricABW(maxRate)
		}
		parsed, err := parseQuantiser(text, t)
		if err != nil {
			return q, err
		}
		q = parsed
		q.Name = text
	}
	var err error
	if f == FormatCompact {
		err = q.checkBands(t)
	} else {
		err = q.checkLinear(t)
	}
	if err != nil {
		if q.Name != "" {
			err = fmt.Errorf("%q: %w", q.Name, err)
		}
		return q, err
	}
	q.Edges, q.Bands = slices.Clone(q.Edges), slices.Clone(q.Bands)
	if n := len(q.Edges); n > 0 && q.top == 0 {
		q.top = q.Edges[n-1] + (q.Edges[n-1] - q.Edges[n-2])
	}
	if f == FormatCompact && t.Unit.limit() != math.MaxUint64 {
		q.top = t.Unit.limit() // percent: the last range ends at 100 %
	}
	return q, nil
}

func (q Quantiser) checkBands(t *Signal) error {
	n := len(q.Edges)
	switch {
	case q.Step != 0 || q.Base != 0:
		return fmt.Errorf("%w: steps are for the wide format, a compact tag needs ranges", ErrQuantiser)
	case n < 2 || n > maxBands:
		return fmt.Errorf("%w: %d ranges, need 2 to %d", ErrQuantiser, n, maxBands)
	case q.Edges[0] != 0:
		return fmt.Errorf("%w: the first range starts at %d, must start at 0", ErrQuantiser, q.Edges[0])
	case q.Edges[n-1] >= min(t.Unit.limit(), math.MaxInt64):
		return fmt.Errorf("%w: edge %d is beyond the greatest value", ErrQuantiser, q.Edges[n-1])
	case q.Bands != nil && len(q.Bands) != n:
		return fmt.Errorf("%w: %d ranges but %d band ids", ErrQuantiser, n, len(q.Bands))
	}
	for i := 1; i < n; i++ {
		if q.Edges[i] <= q.Edges[i-1] {
			return fmt.Errorf("%w: edges must ascend, but %d follows %d", ErrQuantiser, q.Edges[i], q.Edges[i-1])
		}
	}
	// The initial code may belong to the best range only; with another one a
	// fresh tag would claim that range, and better hops could not correct it.
	best := 0
	if t.Min {
		best = n - 1
	}
	for i, code := range q.Bands {
		switch {
		case code >= maxBands:
			return fmt.Errorf("%w: band id %d is above %d", ErrQuantiser, code, maxBands-1)
		case slices.Contains(q.Bands[:i], code):
			return fmt.Errorf("%w: band id %d stands for two ranges", ErrQuantiser, code)
		case uint32(code) == initCode(t.Min, 5) && i != best:
			return fmt.Errorf("%w: band id %d is the initial value and may stand for range %d only, not %d", ErrQuantiser, code, best, i)
		}
	}
	return nil
}

func (q Quantiser) checkLinear(t *Signal) error {
	switch {
	case q.Edges != nil || q.Bands != nil:
		return fmt.Errorf("%w: ranges are for the compact format, a wide tag needs a step", ErrQuantiser)
	case q.Step > maxStep || bits.OnesCount64(q.Step) != 1:
		return fmt.Errorf("%w: step %d is not a power of two up to 2^31", ErrQuantiser, q.Step)
	case q.Base > maxStep || bits.OnesCount64(q.Base) > 1:
		return fmt.Errorf("%w: base %d is neither 0 nor a power of two up to 2^31", ErrQuantiser, q.Base)
	case q.Base >= t.Unit.limit() || q.Step > t.Unit.limit():
		return fmt.Errorf("%w: step %d or base %d is beyond the greatest value, %d", ErrQuantiser, q.Step, q.Base, t.Unit.limit())
	}
	return nil
}

// mode returns the decode mode that DecodeAuto stands for.
func (q Quantiser) mode(t Type, m DecodeMode) DecodeMode {
	switch {
	case m != DecodeAuto:
		return m
	case t == ABW:
		return DecodeLower
	case q.geometric:
		return DecodeGeometric
	}
	return DecodeMidpoint
}

func defaultQuantiser(t *Signal, f Format, maxRate units.Rate) string {
	switch {
	case t.Type >= Standard && f == FormatWide:
		return t.Wide
	case t.Type >= Standard:
		return t.Compact
	case f == FormatWide && t.Type == ABW:
		shift := max(17, bits.Len64(uint64(maxRate/8-1)>>20))
		return fmt.Sprintf("linear(%v)", units.Rate(8)<<shift)
	case f == FormatWide && t.Type == Delay:
		return "linear(16ns)"
	case f == FormatWide:
		return "linear(1ppm)"
	case t.Type == ABW:
		return geometricABW(maxRate)
	case t.Type == Delay:
		return "delay-geo"
	}
	return "pct-lin32"
}

func geometricABW(maxRate units.Rate) string { return fmt.Sprintf("abw-geo(%v)", maxRate/8*8) }

// parseQuantiser reads a name as the comment of Quantiser lists them. It does
// not check the result.
func parseQuantiser(text string, t *Signal) (Quantiser, error) {
	fail := func(format string, arguments ...any) (Quantiser, error) {
		return Quantiser{}, fmt.Errorf("%q: %w: "+format, append([]any{text, ErrQuantiser}, arguments...)...)
	}
	head, bandText, hasBands := strings.Cut(text, " bands")
	kind, arguments, err := call(head)
	if err != nil {
		return fail("%v", err)
	}
	if step, ok := strings.CutPrefix(kind, "delay-lin-"); ok && arguments == nil {
		kind, arguments = "delay-lin", []string{step}
	}
	if i := slices.IndexFunc(tables, func(b table) bool { return b.name == kind }); i >= 0 {
		b := tables[i]
		switch {
		case !b.is(t):
			return fail("table %s is not for %s", kind, t.Name)
		case hasBands && kind != "edges":
			return fail("band ids need edges(…)")
		case len(arguments) < b.least || len(arguments) > b.most:
			return fail("wrong number of values; write %s", b.usage)
		}
		values := make([]uint64, len(arguments))
		for i, a := range arguments {
			if values[i], err = parseValue(a, t.Unit); err != nil {
				return fail("%v", err)
			}
		}
		q := b.build(values)
		if hasBands {
			if q.Bands, err = parseBands(bandText); err != nil {
				return fail("%v", err)
			}
		}
		return q, nil
	}
	var usages []string
	for _, b := range tables {
		if b.is(t) {
			usages = append(usages, b.usage)
		}
	}
	return fail("unknown table; for %s use %s", t.Name, choices(usages))
}

// table is a named quantiser.
type table struct {
	name, usage string
	is          func(*Signal) bool // reports whether it is for a type
	least, most int                // number of values in parentheses
	build       func(values []uint64) Quantiser
}

func isABW(t *Signal) bool      { return t.Type == ABW }
func isDelay(t *Signal) bool    { return t.Unit == Nanoseconds }
func isShare(t *Signal) bool    { return t.Unit == PPM }
func isOfModule(t *Signal) bool { return t.Type >= Standard }
func isAny(*Signal) bool        { return true }

var tables = []table{
	{"abw-geo", "abw-geo(RATE)", isABW, 1, 1, func(v []uint64) Quantiser {
		return geometric(v[0], 31, 8, -8*31)
	}},
	{"pct-lin32", "pct-lin32", isShare, 0, 0, func([]uint64) Quantiser {
		return even(fullShare / maxBands)
	}},
	{"delay-geo", "delay-geo", isDelay, 0, 0, func([]uint64) Quantiser {
		return geometric(250, 3, 1, 0)
	}},
	{"delay-lin", "delay-lin(STEP)", isDelay, 1, 1, func(v []uint64) Quantiser {
		return even(v[0])
	}},
	{"geo", "geo(FIRST)", isOfModule, 1, 1, func(v []uint64) Quantiser {
		return geometric(v[0], 3, 1, 0)
	}},
	{"even", "even(STEP)", isOfModule, 1, 1, func(v []uint64) Quantiser {
		return even(v[0])
	}},
	{"edges", "edges(V, V, …)", isAny, 2, maxBands, func(v []uint64) Quantiser {
		return Quantiser{Edges: v}
	}},
	{"linear", "linear(STEP) or linear(STEP, BASE)", isAny, 1, 2, func(v []uint64) Quantiser {
		q := Quantiser{Step: v[0]}
		if len(v) == 2 {
			q.Base = v[1]
		}
		return q
	}},
}

// even returns 32 ranges of equal width.
func even(step uint64) Quantiser {
	q := Quantiser{Edges: make([]uint64, maxBands)}
	for i := range q.Edges {
		q.Edges[i] = uint64(i) * step
	}
	return q
}

// geometric returns 32 ranges: 0, then edges first * 2^((grow*(i-1)+shift)/root)
// for i = 1 … 31, rounded to the nearest integer. The rounding is exact, so that
// every machine has the same edges.
func geometric(first uint64, root, grow, shift int) Quantiser {
	q := Quantiser{Edges: make([]uint64, maxBands), geometric: true}
	edge := func(i int) uint64 {
		exponent := grow*(i-1) + shift
		e := uint64(float64(first) * math.Exp2(float64(exponent)/float64(root)))
		for e > 0 && !reaches(first, root, exponent, 2*e-1) {
			e--
		}
		for reaches(first, root, exponent, 2*e+1) {
			e++
		}
		return e
	}
	for i := 1; i < maxBands; i++ {
		q.Edges[i] = edge(i)
	}
	q.top = edge(maxBands)
	return q
}

// reaches reports whether first * 2^(exponent/root) >= half/2.
func reaches(first uint64, root, exponent int, half uint64) bool {
	power := big.NewInt(int64(root))
	have := new(big.Int).Exp(new(big.Int).Lsh(new(big.Int).SetUint64(first), 1), power, nil)
	want := new(big.Int).Exp(new(big.Int).SetUint64(half), power, nil)
	if exponent >= 0 {
		have.Lsh(have, uint(exponent))
	} else {
		want.Lsh(want, uint(-exponent))
	}
	return have.Cmp(want) >= 0
}

// call splits name(a, b) into its name and trimmed arguments, nil without
// parentheses.
func call(text string) (string, []string, error) {
	kind, rest, ok := strings.Cut(strings.TrimSpace(text), "(")
	if !ok {
		return kind, nil, nil
	}
	inside, ok := strings.CutSuffix(rest, ")")
	if !ok {
		return "", nil, errors.New("a closing parenthesis is missing")
	}
	arguments := strings.Split(inside, ",")
	for i := range arguments {
		arguments[i] = strings.TrimSpace(arguments[i])
	}
	return strings.TrimSpace(kind), arguments, nil
}

// parseValue reads a value with its unit as a raw value; a bare 0 needs none, and neither
// does a count.
func parseValue(text string, of Unit) (uint64, error) {
	if text == "0" {
		return 0, nil
	}
	var v, unit int64 = 0, 1
	var err error
	switch of {
	case Count:
		v, err = strconv.ParseInt(text, 10, 64)
	case Bytes:
		var size units.Size
		size, err = units.ParseSize(text)
		v = int64(size)
	case BytesPerSecond:
		var r units.Rate
		r, err = units.ParseRate(text)
		v, unit = int64(r), 8
	case Nanoseconds:
		var d units.Duration
		d, err = units.ParseDuration(text)
		v, unit = int64(d), int64(units.Nanosecond)
	default:
		v, err = parseShare(text)
	}
	switch {
	case err != nil:
		return 0, err
	case v < 0:
		return 0, fmt.Errorf("%q is negative", text)
	case v%unit != 0:
		return 0, fmt.Errorf("%q is not a whole number of bytes/s or ns", text)
	}
	return uint64(v / unit), nil
}

// parseShare reads a percentage or parts per million as ppm.
func parseShare(text string) (int64, error) {
	number, unit := units.SplitUnit(text)
	size := int64(1)
	switch {
	case number != "" && unit == "%":
		size = fullShare / 100
	case number == "" || unit != "ppm":
		return 0, fmt.Errorf("%q is not a share; write 12.5%% or 125000ppm", text)
	}
	return units.Scale(number, size)
}

func parseBands(text string) ([]uint8, error) {
	rest, numbers, err := call(text)
	if err != nil {
		return nil, err
	}
	if rest != "" || numbers == nil {
		return nil, errors.New("write band ids as bands(16, 17, …)")
	}
	codes := make([]uint8, len(numbers))
	for i, n := range numbers {
		v, err := strconv.ParseUint(n, 10, 8)
		if err != nil {
			return nil, fmt.Errorf("band id %q is not a number below %d", n, maxBands)
		}
		codes[i] = uint8(v)
	}
	return codes, nil
}
