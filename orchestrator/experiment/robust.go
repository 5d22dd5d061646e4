package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/internal/wildcard"
)

// Promise is an item of the key robust: expectations that hold under settings other than
// those of the file. It decides nothing about a run; csiglab stress checks it.
type Promise struct {
	Settings []string `yaml:"settings,required" is:"setting" doc:"'seeds' (seeds that the experiment does not have), 'rate x0.25', 'rate x4', 'rtt x0.5', 'rtt x4', 'mtu 1500B', 'queue x0.5', 'format compact', 'format wide', 'sampling 1/4'; the first word alone, such as 'rate', for all that begin with it; 'all'"`
	Expect   []string `yaml:"expect" doc:"the expectations: their texts, or patterns with '*'; without the key all"`
	Except   []string `yaml:"except" doc:"of these, the ones that are not promised"`
}

// StressDimension is one thing that csiglab stress changes, and the values that it takes.
type StressDimension struct {
	Name   string
	Values []string // empty: the dimension is one setting
}

// StressDimensions are what csiglab stress changes, in its order: the seeds first.
var StressDimensions = []StressDimension{
	{Name: SeedsSetting},
	{Name: "rate", Values: []string{"x0.25", "x4"}},
	{Name: "rtt", Values: []string{"x0.5", "x4"}},
	{Name: "mtu", Values: []string{"1500B"}},
	{Name: "queue", Values: []string{"x0.5"}},
	{Name: "format", Values: []string{"compact", "wide"}},
	{Name: "sampling", Values: []string{"1/4"}},
}

// SeedsSetting is the setting that changes nothing but the seeds.
const SeedsSetting = "seeds"

// StressSettings returns the names of the settings of a dimension, such as "rate x4"; of all
// of them for "all". It returns nil for a name of neither.
func StressSettings(name string) (names []string) {
	for _, d := range StressDimensions {
		if len(d.Values) == 0 && (name == d.Name || name == allSettings) {
			names = append(names, d.Name)
		}
		for _, v := range d.Values {
			if setting := d.Name + " " + v; name == setting || name == d.Name || name == allSettings {
				names = append(names, setting)
			}
		}
	}
	return names
}

// allSettings stands for every setting.
const allSettings = "all"

// stressNames are the texts that name settings.
func stressNames() (names []string) {
	for _, d := range StressDimensions {
		names = append(names, d.Name)
		for _, v := range d.Values {
			names = append(names, d.Name+" "+v)
		}
	}
	return append(names, allSettings)
}

// Promised reports whether the experiment promises that an expectation holds under a setting.
func (e *Experiment) Promised(expectation, setting string) bool {
	return slices.ContainsFunc(e.Robust, func(p Promise) bool {
		return slices.ContainsFunc(p.Settings, func(name string) bool { return slices.Contains(StressSettings(name), setting) }) &&
			(len(p.Expect) == 0 || matchesAny(p.Expect, expectation)) && !matchesAny(p.Except, expectation)
	})
}

func matchesAny(patterns []string, expectation string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return wildcard.Match(oneLine(p), oneLine(expectation)) })
}

// oneLine returns a text with single blanks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// promises checks the key robust against the expectations. Expectations of another origin
// than the promises, such as those of --set expect=…, need not have those that are named.
func (d *decoder) promises(e *Experiment) {
	for i, p := range e.Robust {
		if len(p.Settings) == 0 {
			d.failAt(fmt.Sprintf("robust[%d].settings", i), "the list is empty; name settings, such as [seeds, rate x4]", "")
		}
		for key, patterns := range map[string][]string{"expect": p.Expect, "except": p.Except} {
			for k, pattern := range patterns {
				path := fmt.Sprintf("robust[%d].%s[%d]", i, key, k)
				if d.elsewhere(path, "expect") || slices.ContainsFunc(e.Expect, func(text string) bool { return matchesAny([]string{pattern}, text) }) {
					continue
				}
				var texts []string
				for _, text := range e.Expect {
					texts = append(texts, oneLine(text))
				}
				d.failAt(path, fmt.Sprintf("no expectation is %q", oneLine(pattern)), spelling.Nearest(oneLine(pattern), texts))
			}
		}
	}
	e.Robust = kept(e.Robust, e.Expect)
}

// kept returns what promises say of the expectations that there are. Those about others alone go:
// an experiment as it is written has nothing that names what it lacks.
func kept(promises []Promise, expect []string) (left []Promise) {
	about := func(patterns []string) (list []string) {
		for _, p := range patterns {
			if slices.ContainsFunc(expect, func(text string) bool { return matchesAny([]string{p}, text) }) {
				list = append(list, p)
			}
		}
		return list
	}
	for _, p := range promises {
		named := about(p.Expect)
		if len(expect) > 0 && len(named) > 0 == (len(p.Expect) > 0) {
			left = append(left, Promise{Settings: p.Settings, Expect: named, Except: about(p.Except)})
		}
	}
	return left
}

// elsewhere reports whether the values of two paths are from different files or options.
func (d *decoder) elsewhere(a, b string) bool {
	return d.node[a] != nil && d.node[b] != nil && d.node[a].at.file != d.node[b].at.file
}
