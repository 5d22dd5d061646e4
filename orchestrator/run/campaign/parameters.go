package campaign

import (
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// remarks returns what values auto of an experiment became, for the text of it in the run
// folder. In the part that the variants share it is the value of all variants that have
// auto there, with their names where these differ.
func remarks(c *work) experiment.Remark {
	set, m, jobs := c.set, c.mode, c.jobs
	var names []string
	autos := map[string]*plan.Auto{}             // by variant
	paths := map[string]func() map[string]bool{} // at which it has the value auto
	for _, j := range jobs {
		if autos[j.name] != nil {
			continue
		}
		a := &plan.Auto{Experiment: set.Variants[j.variant].Experiment, Plan: j.plan}
		if m.Has(runtimes.RealTime) {
			a.Dilation = m.wall.Dilation
		}
		names, autos[j.name], paths[j.name] = append(names, j.name), a, sync.OnceValue(a.Experiment.Autos)
	}
	return func(variant, path string) string {
		if variant != "" {
			if a := autos[variant]; a != nil {
				return a.Value(path)
			}
			return ""
		}
		var values []string
		of := map[string][]string{}
		for _, name := range names {
			if !paths[name]()[path] {
				continue
			}
			v := autos[name].Value(path)
			if of[v] == nil {
				values = append(values, v)
			}
			of[v] = append(of[v], name)
		}
		switch len(values) {
		case 0:
			return "not used: every variant has a value"
		case 1:
			return values[0]
		}
		for i, v := range values {
			values[i] = strings.Join(of[v], ", ") + ": " + v
		}
		return strings.Join(slices.DeleteFunc(values, func(v string) bool { return strings.HasSuffix(v, ": ") }), "; ")
	}
}
