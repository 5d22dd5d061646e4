// Package regress compares a candidate with a baseline over a suite of experiments, and
// comes to a verdict. It decides which trials are run and in which order, when there are
// enough of them, and what they say together. Package trial runs them, package
// orchestrator/compare/statistics judges the numbers of a metric, package orchestrator/compare/verdict has the
// result. A Session is a regression from its flags to the files of its folder: it has the
// programs of the sides built (package revision), and prints nothing.
package regress

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// suiteSchema is the version of the text of suites.
const suiteSchema = 1

// MaxSuite is the most bytes that the text of a suite may have.
const MaxSuite = 1 << 20

// Defaults of a suite, and of its entries. With DefaultSeeds a suite of 20 metrics can
// still fail one by a metric's rank test: of 24 equal signs the share is 2^-24.
const (
	defaultConfidence = 0.95
	defaultFalseFail  = 0.02
)

// DefaultSeeds are those of an entry that names none, nor the suite.
var DefaultSeeds = Seeds{First: 8, Most: 24}

// Limits of a suite.
const (
	maxEntries = 500
	maxRules   = 200 // of an entry
	maxSeeds   = 1000
)

// Suite is a list of experiments, and what must not get worse in them.
type Suite struct {
	Name        string  `json:"name"`
	Description string  `json:"description,omitempty"`
	Confidence  float64 `json:"confidence"` // of pass, such as 0.95
	FalseFail   float64 `json:"falseFail"`  // the greatest share of false fails of the whole suite
	Entries     []Entry `json:"entries"`
}

// Entry is an experiment of a suite, with one or more variants.
type Entry struct {
	Name       string   `json:"name"`               // unique in the suite
	Experiment string   `json:"experiment"`         // the name of an embedded one, or a file
	Variants   []string `json:"variants,omitempty"` // empty: all
	Set        []string `json:"set,omitempty"`      // overrides, as PATH=VALUE
	Dir        string   `json:"dir,omitempty"`      // that names of files in Set are relative to; empty: the working directory
	Seeds      Seeds    `json:"seeds"`
	Rules      []Rule   `json:"rules"`

	node *experiment.Node // nil: not from a file
}

// Seeds says how many seeds are run. They are the numbers from 1.
type Seeds struct {
	First int `json:"first"` // before the first look
	Most  int `json:"most"`
}

// Rule says when a metric has become worse.
type Rule struct {
	Metric string `json:"metric"`
	// Delta is the smallest worsening that matters: a share of the baseline's value, or a
	// number in the metric's unit with Absolute. It is positive.
	Delta    float64 `json:"delta"`
	Absolute bool    `json:"absolute,omitempty"`
	// Of is what is compared over the seeds: median, or a percentile such as p90.
	Of string `json:"of"`
	// Better is needed for metrics without a direction of their own; empty: that of
	// measure.Meaning. Same is for metrics that have no reason to move.
	Better verdict.Better `json:"better,omitempty"`

	node *experiment.Node
}

// quantile returns Of as a share of the seeds.
func (r *Rule) quantile() float64 {
	q, _ := parseOf(r.Of) // checked when it was read
	return q
}

// ReadSuite reads the text of a suite strictly. source is its name in messages, dir the
// folder that files of experiments are relative to. The error lists everything that is
// wrong with the text, with its places; whether experiments have such variants and metrics
// is not checked yet.
func ReadSuite(source, dir string, data []byte) (*Suite, error) {
	root, err := experiment.ParseNode(source, data)
	if err != nil {
		return nil, err
	}
	r := suiteReader{dir: dir}
	s := r.suite(root)
	if len(r.errs) > 0 {
		return nil, r.errs
	}
	return s, nil
}

// suiteReader collects what is wrong with a suite.
type suiteReader struct {
	dir  string
	errs experiment.Errors
}

func (r *suiteReader) wrong(n *experiment.Node, suggestion, format string, args ...any) {
	r.errs = append(r.errs, n.Wrong(fmt.Sprintf(format, args...), suggestion))
}

// mapping calls read for each key of a mapping, and refuses keys that it does not know.
func (r *suiteReader) mapping(n *experiment.Node, required []string, read map[string]func(*experiment.Node)) {
	if n.Kind != experiment.Mapping {
		r.wrong(n, "", "want a mapping, got %v", n.Kind)
		return
	}
	var known []string
	for name := range read {
		known = append(known, name)
	}
	slices.Sort(known)
	for _, k := range n.Keys {
		switch value, ok := read[k.Name]; {
		case !ok:
			near := spelling.Nearest(k.Name, known)
			hint := ""
			if near == "" {
				hint = "; known: " + strings.Join(known, ", ")
			}
			r.errs = append(r.errs, n.WrongKey(k, "unknown key"+hint, near))
		case k.Value.Kind == experiment.Nothing:
			r.errs = append(r.errs, n.WrongKey(k, "the key has no value", ""))
		default:
			value(k.Value)
		}
	}
	for _, name := range required {
		if n.Get(name) == nil {
			r.wrong(n, "", "the key %s is missing", name)
		}
	}
}

func (r *suiteReader) suite(root *experiment.Node) *Suite {
	s := &Suite{Confidence: defaultConfidence, FalseFail: defaultFalseFail}
	seeds := DefaultSeeds
	if n := root.Get("seeds"); n != nil && n.Kind != experiment.Nothing {
		seeds = r.seeds(n, seeds)
	}
	r.mapping(root, []string{"schema", "name", "experiments"}, map[string]func(*experiment.Node){
		"schema": func(n *experiment.Node) {
			if n.Text != strconv.Itoa(suiteSchema) {
				r.wrong(n, "", "schema %q of a suite; this csiglab reads %d", n.Text, suiteSchema)
			}
		},
		"name":        func(n *experiment.Node) { s.Name = r.name(n) },
		"description": func(n *experiment.Node) { s.Description = r.text(n) },
		"confidence":  func(n *experiment.Node) { s.Confidence = r.share(n, 0.5, 0.9999) },
		"false_fail":  func(n *experiment.Node) { s.FalseFail = r.share(n, 0.0001, 0.5) },
		"seeds":       func(*experiment.Node) {},
		"experiments": func(n *experiment.Node) {
			for _, item := range r.list(n, maxEntries) {
				s.Entries = append(s.Entries, r.entry(item, seeds))
			}
		},
	})
	taken := map[string]*experiment.Node{}
	for _, e := range s.Entries {
		if first := taken[e.Name]; first != nil && e.Name != "" {
			r.wrong(e.node, "", "the name %q is that of line %d too; give one of them another key name", e.Name, first.Line)
			continue
		}
		taken[e.Name] = e.node
	}
	return s
}

func (r *suiteReader) entry(n *experiment.Node, seeds Seeds) Entry {
	e := Entry{Seeds: seeds, node: n}
	if n.Kind == experiment.Single { // every entry needs metrics
		r.wrong(n, "", "want a mapping with the keys experiment and metrics, got %v", n.Kind)
		return e
	}
	r.mapping(n, []string{"experiment", "metrics"}, map[string]func(*experiment.Node){
		"name": func(n *experiment.Node) { e.Name = r.name(n) },
		"experiment": func(n *experiment.Node) {
			e.Experiment = r.text(n)
			if e.Name == "" {
				e.Name = stem(e.Experiment)
			}
			if !slices.Contains(experiment.Names(), e.Experiment) && !filepath.IsAbs(e.Experiment) && e.Experiment != "" {
				e.Experiment = filepath.Join(r.dir, e.Experiment)
			}
		},
		"variants": func(n *experiment.Node) {
			for _, item := range r.list(n, maxRules) {
				name := r.text(item)
				if slices.Contains(e.Variants, name) {
					r.wrong(item, "", "variant %q is given twice", name)
				}
				e.Variants = append(e.Variants, name)
			}
		},
		"set": func(n *experiment.Node) {
			for _, item := range r.list(n, maxRules) {
				text := r.text(item)
				if _, err := experiment.ParseSet("set", text); err != nil && text != "" {
					r.wrong(item, "", "%q: want PATH=VALUE, such as hosts.cc=nscc", text)
				}
				e.Set, e.Dir = append(e.Set, text), r.dir
			}
		},
		"seeds":   func(n *experiment.Node) { e.Seeds = r.seeds(n, seeds) },
		"metrics": func(n *experiment.Node) { e.Rules = r.rules(n) },
	})
	return e
}

func (r *suiteReader) rules(n *experiment.Node) (rules []Rule) {
	switch {
	case n.Kind != experiment.Mapping:
		r.wrong(n, "", "want a mapping from metrics to the smallest effect that matters, such as fct_us.p99: 5%%; got %v", n.Kind)
		return nil
	case len(n.Keys) == 0:
		r.wrong(n, "", "no metric; want at least one")
	case len(n.Keys) > maxRules:
		r.wrong(n, "", "%d metrics; the most is %d", len(n.Keys), maxRules)
		return nil
	}
	for _, k := range n.Keys {
		rule := Rule{Metric: k.Name, Of: "median", node: k.Value}
		delta := func(n *experiment.Node) {
			var err error
			if rule.Delta, rule.Absolute, err = ParseDelta(r.text(n)); err != nil && n.Kind == experiment.Single {
				r.wrong(n, "", "%v", err)
			}
		}
		if k.Value.Kind != experiment.Mapping {
			if k.Value.Kind == experiment.Nothing {
				r.errs = append(r.errs, n.WrongKey(k, "the metric has no value; want the smallest effect that matters, such as 5%", ""))
				continue
			}
			delta(k.Value)
		} else {
			r.mapping(k.Value, []string{"delta"}, map[string]func(*experiment.Node){
				"delta": delta,
				"of": func(n *experiment.Node) {
					rule.Of = r.text(n)
					if _, err := parseOf(rule.Of); err != nil && n.Kind == experiment.Single {
						r.wrong(n, "", "%v", err)
					}
				},
				"better": func(n *experiment.Node) {
					var err error
					if rule.Better, err = ParseBetter(r.text(n)); err != nil && n.Kind == experiment.Single {
						r.wrong(n, spelling.Nearest(n.Text, directions), "%v", err)
					}
				},
			})
		}
		rules = append(rules, rule)
	}
	return rules
}

// ParseDelta parses the smallest effect that matters: 5% is a share of the baseline's
// value, 2.5 a number in the metric's unit.
func ParseDelta(text string) (delta float64, absolute bool, err error) {
	number, share := strings.CutSuffix(strings.TrimSpace(text), "%")
	delta, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if share {
		delta /= 100
	}
	if err != nil || !(delta > 0) || share && delta > 10 || delta > 1e18 {
		return 0, false, fmt.Errorf("%q is no smallest effect; want a share of the baseline's value, such as 5%%, or a number above 0 in the metric's unit", text)
	}
	return delta, !share, nil
}

// mostUnit is the length of the longest unit that is none of a count, Gb/s.
const mostUnit = 4

// ParseDeltaOf is ParseDelta of a flag, where a number in the metric's unit says the unit, unless it
// counts: 5us, as 5 may be meant as a share.
func ParseDeltaOf(metric, text string) (delta float64, absolute bool, err error) {
	unit := measure.Meaning(metric).Unit
	number := strings.TrimSpace(strings.ReplaceAll(text, "µ", "u"))
	plain := strings.ReplaceAll(unit, "µ", "u")
	if plain == "" || len(plain) > mostUnit || strings.HasSuffix(number, "%") {
		return ParseDelta(text)
	}
	number, given := strings.CutSuffix(number, plain)
	if delta, absolute, err = ParseDelta(number); err == nil && !given {
		err = fmt.Errorf("%q has no unit; write %s%% for a share of the baseline's value, or %s%s", text, number, number, plain)
	}
	return delta, absolute, err
}

// directions are all that verdict.Better may be.
var directions = []string{string(verdict.Lower), string(verdict.Higher), string(verdict.Same)}

// ParseBetter parses a direction.
func ParseBetter(text string) (verdict.Better, error) {
	if slices.Contains(directions, text) {
		return verdict.Better(text), nil
	}
	return "", fmt.Errorf("%q is no direction; want lower, higher or same", text)
}

// ParseOf checks what is compared over the seeds: median, or p1 to p99.
func ParseOf(text string) error {
	_, err := parseOf(text)
	return err
}

func parseOf(text string) (quantile float64, err error) {
	if text == "median" {
		return 0.5, nil
	}
	number, ok := strings.CutPrefix(text, "p")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > 99 || strconv.Itoa(n) != number {
		return 0, fmt.Errorf("%q is nothing that is compared over the seeds; want median, or p1 to p99", text)
	}
	return float64(n) / 100, nil
}

func (r *suiteReader) seeds(n *experiment.Node, seeds Seeds) Seeds {
	number := func(to *int) func(*experiment.Node) {
		return func(n *experiment.Node) {
			v, err := strconv.Atoi(n.Text)
			if err != nil || v < 1 || v > maxSeeds {
				r.wrong(n, "", "%q is no number of seeds; want 1 to %d", n.Text, maxSeeds)
				return
			}
			*to = v
		}
	}
	before := len(r.errs)
	r.mapping(n, nil, map[string]func(*experiment.Node){"first": number(&seeds.First), "most": number(&seeds.Most)})
	if seeds.First > seeds.Most && len(r.errs) == before {
		r.wrong(n, "", "first is %d, and most is %d; want first up to most", seeds.First, seeds.Most)
	}
	return seeds
}

func (r *suiteReader) list(n *experiment.Node, most int) []*experiment.Node {
	switch {
	case n.Kind != experiment.List:
		r.wrong(n, "", "want a list, got %v", n.Kind)
		return nil
	case len(n.Items) == 0:
		r.wrong(n, "", "the list is empty")
	case len(n.Items) > most:
		r.wrong(n, "", "%d items; the most is %d", len(n.Items), most)
		return nil
	}
	return n.Items
}

func (r *suiteReader) text(n *experiment.Node) string {
	if n.Kind != experiment.Single {
		r.wrong(n, "", "want a single value, got %v", n.Kind)
		return ""
	}
	if strings.TrimSpace(n.Text) == "" {
		r.wrong(n, "", "the value is empty")
	}
	return n.Text
}

var namePattern = lazy.Regexp(`^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?$`)

// name returns the name of a suite or an entry, which is a part of file names and of
// NAME/VARIANT.
func (r *suiteReader) name(n *experiment.Node) string {
	name := r.text(n)
	if name != "" && !namePattern().MatchString(name) {
		r.wrong(n, "", "%q is no name; want up to 64 small letters, digits and -, with - only between them", name)
	}
	return name
}

// share reads a number from low to high.
func (r *suiteReader) share(n *experiment.Node, low, high float64) float64 {
	v, err := strconv.ParseFloat(n.Text, 64)
	if n.Kind != experiment.Single || err != nil || !(v >= low && v <= high) {
		r.wrong(n, "", "%q: want a number from %v to %v", n.Text, low, high)
		return low
	}
	return v
}

var notInNames = lazy.Regexp(`[^a-z0-9]+`)

// stem returns a name for an experiment: that of an embedded one, or of a file without its
// folder and its ending.
func stem(experiment string) string {
	name := strings.TrimSuffix(filepath.Base(experiment), filepath.Ext(experiment))
	name = strings.Trim(notInNames().ReplaceAllString(strings.ToLower(name), "-"), "-")
	if name == "" {
		name = "experiment"
	}
	return strings.Trim(name[:min(len(name), 64)], "-")
}

// One returns a suite of one experiment.
func One(nameOrPath string, variants, set []string, seeds Seeds, rules []Rule) *Suite {
	name := stem(nameOrPath)
	return &Suite{Name: name, Confidence: defaultConfidence, FalseFail: defaultFalseFail,
		Entries: []Entry{{Name: name, Experiment: nameOrPath, Variants: variants, Set: set, Seeds: seeds, Rules: rules}}}
}
