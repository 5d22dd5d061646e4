package bisect

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/csiglab/csiglab/units"
)

// mostValues is how many steps a range may have: a search of 20 values.
const mostValues = 1 << 20

// defaultValues is how many steps a range has if no resolution is given.
const defaultValues = 100

// Range is a sequence of values of a parameter.
type Range struct {
	good, bad string
	from      *big.Rat // in the smallest unit, as step is
	step      *big.Rat // with its sign
	format    func(*big.Rat) string
	last      int
}

// ParseRange reads a range of values from a good to a bad one, such as 10us and 1ms, 64kB
// and 4kB, 0.1 and 0.5, 8 and 64. Neighbours are a resolution apart, but for the last ones,
// which may be nearer; "" is a hundredth of the range, and at least 1 between whole numbers.
// All three have the same kind of unit, or none.
func ParseRange(good, bad, resolution string) (*Range, error) {
	r := &Range{good: good, bad: bad}
	kind := kindOf(good)
	if kind == nil {
		return nil, fmt.Errorf("%q is no value with a unit, and no number: want, for example, 10us, 64kB, 100Gbps or 0.25", good)
	}
	from, err := kind.parse(good)
	if err != nil {
		return nil, err
	}
	to, err := kind.parse(bad)
	if err != nil {
		return nil, fmt.Errorf("%w; the other end is %s", err, good)
	}
	length := new(big.Rat).Sub(to, from)
	if length.Sign() == 0 {
		return nil, fmt.Errorf("both ends are %s", good)
	}
	whole := from.IsInt() && to.IsInt()
	step := new(big.Rat).Quo(new(big.Rat).Abs(length), big.NewRat(defaultValues, 1))
	if resolution != "" {
		if step, err = kind.parse(resolution); err != nil {
			return nil, fmt.Errorf("resolution: %w; the ends are %s and %s", err, good, bad)
		}
		if step.Sign() <= 0 {
			return nil, fmt.Errorf("resolution %s: want more than 0", resolution)
		}
		whole = whole && step.IsInt()
	} else if whole { // up to the next whole number of the smallest unit
		step.SetInt(new(big.Int).Add(new(big.Int).Quo(new(big.Int).Sub(step.Num(), big.NewInt(1)), step.Denom()), big.NewInt(1)))
	}
	count := new(big.Rat).Quo(new(big.Rat).Abs(length), step)
	last := new(big.Int).Quo(count.Num(), count.Denom())
	if !count.IsInt() {
		last.Add(last, big.NewInt(1))
	}
	if !last.IsInt64() || last.Int64() > mostValues {
		return nil, fmt.Errorf("from %s to %s there are more than %d values of the resolution: want a greater resolution", good, bad, mostValues)
	}
	r.from, r.last = from, int(last.Int64())
	if r.step = step; length.Sign() < 0 {
		r.step = new(big.Rat).Neg(step)
	}
	r.format = func(v *big.Rat) string { return kind.format(v, whole) }
	return r, nil
}

// Last returns the number of the last value, which is the bad one; 0 is the good one.
func (r *Range) Last() int { return r.last }

// Value returns a value of the range, by its number.
func (r *Range) Value(i int) string {
	switch i {
	case 0:
		return r.good
	case r.last:
		return r.bad
	}
	v := new(big.Rat).Mul(r.step, big.NewRat(int64(i), 1))
	return r.format(v.Add(v, r.from))
}

// kind is a kind of unit. Values are in the smallest unit.
type kind struct {
	parse  func(text string) (*big.Rat, error)
	format func(v *big.Rat, whole bool) string
}

var kinds = []kind{
	{parseNumber, formatNumber},
	unitKind(units.ParseDuration), unitKind(units.ParseSize), unitKind(units.ParseRate),
}

// kindOf returns the kind of a value, or nil.
func kindOf(text string) *kind {
	for i := range kinds {
		if _, err := kinds[i].parse(text); err == nil {
			return &kinds[i]
		}
	}
	return nil
}

func unitKind[T interface {
	~int64
	String() string
}](parse func(string) (T, error)) kind {
	return kind{
		func(text string) (*big.Rat, error) {
			v, err := parse(text)
			return big.NewRat(int64(v), 1), err
		},
		func(v *big.Rat, _ bool) string {
			return T(new(big.Int).Quo(v.Num(), v.Denom()).Int64()).String()
		},
	}
}

func parseNumber(text string) (*big.Rat, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, fmt.Errorf("%q is no number", text)
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New(text + " is no decimal number")
	}
	return exact, nil
}

func formatNumber(v *big.Rat, whole bool) string {
	if whole {
		return v.RatString()
	}
	f, _ := v.Float64()
	return strconv.FormatFloat(f, 'g', 8, 64)
}
