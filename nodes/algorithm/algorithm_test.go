package algorithm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/algorithm/algorithmtest"
	"github.com/csiglab/csiglab/units"
)

// toy has a parameter of every kind.
var toy = algorithm.Spec{
	Name: "toy",
	Doc:  "an algorithm of these tests",
	Params: []algorithm.Param{
		{Name: "on", Kind: algorithm.Bool, Default: "true", Doc: "-"},
		{Name: "gain", Kind: algorithm.Number, Default: "0.5", Check: algorithm.Share, Doc: "-"},
		{Name: "hops", Kind: algorithm.Int, Default: "3", Doc: "-"},
		{Name: "target", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "-"},
		{Name: "low", Kind: algorithm.Size, Default: "1kB", Check: algorithm.NotNegative(units.ParseSize), Doc: "-"},
		{Name: "floor", Kind: algorithm.Rate, Default: "1Gbps", Check: algorithm.Positive(units.ParseRate), Doc: "-"},
		{Name: "mode", Kind: algorithm.Enum, Default: "slow", Values: []string{"slow", "fast"}, Doc: "-"},
		{Name: "depth", Kind: algorithm.Int, Default: "1", With: &algorithm.Condition{Param: "mode", Values: []string{"fast"}}, Doc: "-"},
	},
}

// built is what toy is built into: what its reader returned.
type built struct {
	On     bool
	Gain   float64
	Hops   int
	Target units.Duration
	Low    units.Size
	Floor  units.Rate
	Mode   string
}

func build(v algorithm.Values) (*built, error) {
	return algorithm.Build(toy, v, func(r *algorithm.Reader) *built {
		b := &built{
			On: r.Bool("on"), Gain: r.Number("gain"), Hops: r.Int("hops"),
			Target: algorithm.OrAuto(r, "target", r.Duration, 7*units.Microsecond),
			Low:    r.Size("low"), Floor: r.Rate("floor"), Mode: r.Text("mode"),
		}
		if b.Hops > 9 {
			r.Fail("hops", fmt.Errorf("%d is more than 9", b.Hops))
			r.Fail("low", errors.New("a second error"))
		}
		return b
	})
}

func TestReader(t *testing.T) {
	for _, test := range []struct {
		values algorithm.Values
		want   built
	}{
		{nil, built{true, 0.5, 3, 7 * units.Microsecond, units.KB, units.Gbps, "slow"}},
		{
			algorithm.Values{"on": "false", "gain": "1", "hops": "-2", "target": "3us", "low": "0B", "floor": "2Gbps", "mode": "fast"},
			built{false, 1, -2, 3 * units.Microsecond, 0, 2 * units.Gbps, "fast"},
		},
		{algorithm.Values{"target": "auto"}, built{true, 0.5, 3, 7 * units.Microsecond, units.KB, units.Gbps, "slow"}},
	} {
		got, err := build(test.values)
		if err != nil {
			t.Fatalf("%v: %v", test.values, err)
		}
		if diff := cmp.Diff(*got, test.want); diff != "" {
			t.Errorf("%v, got - want +:\n%s", test.values, diff)
		}
	}
	algorithmtest.Parameters(t, toy, func(v algorithm.Values) (bool, error) {
		b, err := build(v)
		return b != nil, err
	})
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		values algorithm.Values
		param  string // of the *ParamError
		want   string
	}{
		{algorithm.Values{"hops": "10"}, "hops", "toy: parameter hops: 10 is more than 9"},
		{algorithm.Values{"gain": "2"}, "gain", "toy: parameter gain: 2 is not in (0, 1]"},
		{algorithm.Values{"mode": "quick"}, "mode", `toy: parameter mode: unknown value "quick"; known: slow fast`},
		{algorithm.Values{"depth": "2"}, "depth", "toy: parameter depth: only with mode fast, and that is slow"},
		{algorithm.Values{"depth": "2", "mode": "slow"}, "depth", "toy: parameter depth: only with mode fast, and that is slow"},
		{algorithm.Values{"zeal": "1"}, "", `toy has no parameter "zeal"`},
		{algorithm.Values{"zeal": "1", "gain": "2"}, "gain", "toy: parameter gain: 2 is not in (0, 1]"}, // by name
	} {
		_, err := build(test.values)
		if err == nil || err.Error() != test.want {
			t.Errorf("%v: error %v, want %s", test.values, err, test.want)
		}
		var param *algorithm.ParamError
		switch {
		case !errors.As(err, &param):
			param = new(algorithm.ParamError)
		case errors.Unwrap(param) == nil:
			t.Errorf("%v: the error wraps nothing", test.values)
		}
		if param.Param != test.param {
			t.Errorf("%v: error of parameter %q, want %q", test.values, param.Param, test.param)
		}
	}
}

func TestParse(t *testing.T) {
	for _, test := range []struct{ param, text, want string }{
		{"on", "false", "false"},
		{"gain", "0.50", "0.5"},
		{"gain", "1e-3", "0.001"},
		{"hops", "+07", "7"},
		{"target", "auto", "auto"},
		{"target", "1000us", "1ms"},
		{"low", "2000B", "2kB"},
		{"floor", "1000Mbps", "1Gbps"},
		{"mode", "fast", "fast"},
	} {
		p, ok := toy.Param(test.param)
		if !ok {
			t.Fatalf("no parameter %s", test.param)
		}
		if got, err := p.Parse(test.text); err != nil || got != test.want {
			t.Errorf("%s: %q is %q, %v, want %q", test.param, test.text, got, err, test.want)
		}
	}
}

// Resolve has every parameter with its value, and for auto what the algorithm takes.
func TestResolve(t *testing.T) {
	build := func(r *algorithm.Reader) {
		if got := algorithm.OrAuto(r, "target", r.Duration, 5*units.Microsecond); got == 0 {
			t.Error("no target")
		}
	}
	for _, test := range []struct {
		values algorithm.Values
		want   string
	}{{nil, "5us"}, {algorithm.Values{"target": "7us"}, "7us"}, {algorithm.Values{"target": algorithm.Auto}, "5us"}} {
		got, err := algorithm.Resolve(toy, test.values, build)
		if err != nil || got["target"] != test.want || len(got) != len(toy.Params) {
			t.Errorf("%v: %v, %v; want target %s and %d parameters", test.values, got, err, test.want, len(toy.Params))
		}
	}
	if _, err := algorithm.Resolve(toy, algorithm.Values{"hops": "x"}, build); err == nil {
		t.Error("a wrong value is resolved")
	}
	untouched, err := algorithm.Resolve(toy, nil, func(*algorithm.Reader) {})
	if err != nil || untouched["target"] != algorithm.Auto {
		t.Errorf("%v, %v: want target auto, as nothing has read it", untouched, err)
	}
}

// A parameter with a condition may have its default always, and others where it holds.
func TestConditions(t *testing.T) {
	for _, values := range []algorithm.Values{{"depth": "1"}, {"depth": "2", "mode": "fast"}, {"depth": "1", "mode": "slow"}} {
		if err := toy.Check(values); err != nil {
			t.Errorf("%v: %v", values, err)
		}
	}
}

// An algorithm that wraps another reads its parameters, and takes over its errors.
func TestInner(t *testing.T) {
	wrapped := algorithm.Spec{Name: "wrapped", Params: []algorithm.Param{
		{Name: "hops", Kind: algorithm.Int, Default: "3", Doc: "-"},
		{Name: "target", Kind: algorithm.Duration, Default: algorithm.Auto, Doc: "-"},
	}}
	build := func(r *algorithm.Reader) {
		inner := r.Inner(wrapped)
		algorithm.OrAuto(inner, "target", inner.Duration, 5*units.Microsecond)
		if inner.Int("hops") > 5 {
			inner.Fail("hops", errors.New("too many"))
		}
		r.Adopt(inner)
	}
	got, err := algorithm.Resolve(toy, algorithm.Values{"gain": "1", "hops": "4"}, build)
	if err != nil || got["target"] != "5us" || got["hops"] != "4" {
		t.Errorf("%v, %v; want target 5us and 4 hops", got, err)
	}
	_, err = algorithm.Resolve(toy, algorithm.Values{"hops": "6"}, build)
	if want := "toy: parameter hops: too many"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Mistakes of an algorithm's author are found by its first test.
func TestPanics(t *testing.T) {
	for name, mistake := range map[string]func(){
		"undeclared": func() { toy.Read(nil).Int("size") },
		"as rate":    func() { toy.Read(nil).Rate("low") },
		"unknown":    func() { _, _ = algorithm.Param{Name: "x", Kind: "color"}.Parse("red") },
	} {
		func() {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "algorithm: ") || !strings.Contains(text, name) {
					t.Errorf("%s: got %q", name, text)
				}
			}()
			mistake()
		}()
	}
}

func TestTable(t *testing.T) {
	table := algorithm.Table[algorithm.Spec]{toy, {Name: "other"}}
	algorithmtest.Table(t, table)
	if got, want := table.Names(), []string{"toy", "other"}; !cmp.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	if specs := table.Specs(); len(specs) != 2 || specs[0].Doc != toy.Doc {
		t.Errorf("specs %+v", specs)
	}
	for _, test := range []struct {
		hops, want string
	}{
		{"1", "<nil>"},
		{"x", `toy: parameter hops: "x" is not a whole number`},
	} {
		if text := fmt.Sprint(toy.Check(algorithm.Values{"hops": test.hops})); text != test.want {
			t.Errorf("hops %s: error %s, want %s", test.hops, text, test.want)
		}
	}
}
