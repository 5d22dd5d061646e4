package experiment

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/wildcard"
	"github.com/csiglab/csiglab/units"
)

// Tuned is an item of the key tuned: a value that was chosen so that the experiment shows its
// effect. It decides nothing about a run; csiglab stress halves and doubles the value.
type Tuned struct {
	Path  string   `yaml:"path,required" doc:"the value, as of '--set'; '*' stands for every index, such as 'jobs[*].profile.bytes'"`
	Seeds []uint64 `yaml:"seeds" doc:"seeds that it was chosen on, as of 'seeds'; without, no run chose it"`
	Why   string   `yaml:"why,required" doc:"what it was chosen for"`
}

// TunedSetting stands for all settings of the key tuned.
const TunedSetting = "tuned"

// TunedFactors are by what csiglab stress multiplies the values of the key tuned.
var TunedFactors = []float64{0.5, 2}

// Setting returns the name of the setting that multiplies the value.
func (t Tuned) Setting(by float64) string { return fmt.Sprintf("%s x%v", t.Path, by) }

// tuned checks the key tuned. Whether a variant has such a value is known when all are there.
func (d *decoder) tuned(e *Experiment) {
	for i, t := range e.Tuned {
		at := fmt.Sprintf("tuned[%d].path", i)
		if msg, suggestion := checkSweptPath(t.Path); msg != "" {
			d.failAt(at, msg, suggestion)
		}
		if slices.ContainsFunc(e.Tuned[:i], func(other Tuned) bool { return dots(other.Path) == dots(t.Path) }) {
			d.failAt(at, fmt.Sprintf("the path %s is there twice", t.Path), "")
		}
	}
}

// Given returns the single values that the variant was given at a path of the key tuned.
func (r *Resolved) Given(path string) (list []Override) {
	for _, at := range slices.Sorted(maps.Keys(r.node)) {
		if t := r.node[at]; t.kind == scalar && wildcard.Match(dots(path), dots(at)) && strings.Count(dots(path), ".") == strings.Count(dots(at), ".") {
			list = append(list, Override{Path: at, Value: t.text})
		}
	}
	return list
}

// Scaled returns the overrides that multiply what Given returns, without the values that are no
// positive numbers. Counts become whole numbers.
func (r *Resolved) Scaled(path string, by float64) (list []Override) {
	for _, o := range r.Given(path) {
		number, unit := units.SplitUnit(o.Value)
		n, err := strconv.ParseFloat(number, 64)
		if err != nil || n <= 0 {
			continue
		}
		n *= by
		if k := keyAt(o.Path); unit == "B" || unit == "" && k.value != nil && k.value.Kind() == reflect.Int {
			n = math.Ceil(n)
		}
		o.Value = strconv.FormatFloat(n, 'f', -1, 64) + unit
		list = append(list, o)
	}
	return list
}
