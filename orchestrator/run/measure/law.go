package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/workloads/fluid"
)

// law is how the jobs of a plan share links.
type law struct {
	sharing fluid.Sharing
	weights []float64 // by job: of each of its connections, or of its class
	byClass []bool    // by job
	// priorities are those of fluid.Job, if sharing is strict.
	priorities []int
	words      string
}

// lawOf returns the law by which the jobs of a plan share links, or why it is not known.
func lawOf(p *plan.Plan) (law, string) {
	l := law{priorities: make([]int, len(p.Jobs)), byClass: make([]bool, len(p.Jobs))}
	var first congestion.Share
	var params algorithm.Values
	name := ""
	for i := range p.Jobs {
		own, values, cc, lacks := jobLawOf(p, i)
		switch {
		case lacks != "":
			return l, fmt.Sprintf("job %s: %s", p.Jobs[i].Name, lacks)
		case i == 0:
			first, params, name = own, values, cc
		case cc != name || !maps.Equal(values, params):
			return l, "its jobs differ in congestion control"
		}
		l.weights = append(l.weights, own.Weight)
	}
	l.sharing, l.words = fluid.Sharing{Intercept: first.Intercept, Slope: first.Slope, Low: first.Low}, first.Words
	if least, largest := slices.Min(l.weights), slices.Max(l.weights); least < largest {
		var shares []string
		for i := range l.weights {
			l.weights[i] /= least
			shares = append(shares, fmt.Sprintf("%.3g", l.weights[i]))
		}
		text := "weights " + strings.Join(shares, " : ") + " by " + first.By + ", an approximation"
		if l.sharing.Slope > 0 {
			text = l.words + ", times " + text
		}
		l.words = text
	} else {
		for i := range l.weights {
			l.weights[i] = 1
		}
	}
	lacks := l.classes(p)
	if slices.ContainsFunc(p.Jobs, func(j metrics.JobInfo) bool { return j.Schedule.Period > 0 }) {
		l.words += ", with slots"
	}
	return l, lacks
}

// jobLawOf returns the law of a job's connections, their congestion control, and those of
// its parameters in which the jobs must agree; or why it has no law.
func jobLawOf(p *plan.Plan, job int) (own congestion.Share, values algorithm.Values, name, lacks string) {
	for h := range p.Hosts() {
		c := p.Nodes[h].Host
		if c == nil {
			continue
		}
		for i := range c.Sends {
			f := &c.Sends[i]
			if !f.Connection || int(p.Flows[f.ID].Job) != job {
				continue
			}
			choice := c.CCOf(f)
			cc, _ := congestion.Table.Lookup(choice.Name)
			all, err := cc.Resolve(c.Path, choice.Params)
			if err != nil {
				panic("measure: " + err.Error()) // it was checked when the plan was made
			}
			if name != "" && (choice.Name != name || !maps.Equal(all, values)) {
				return own, nil, "", "its connections differ in congestion control"
			}
			var known bool
			if own, known = cc.ShareOf(choice.Params); !known {
				return own, nil, "", fmt.Sprintf("how flows of %s share a link is not modelled", choice.Name)
			}
			values, name = all, choice.Name
			if own.Unknown != "" {
				return own, nil, "", own.Unknown
			}
		}
	}
	if name == "" {
		return own, nil, "", "it has no connections"
	}
	values = maps.Clone(values)
	for _, key := range own.Own {
		delete(values, key)
	}
	return own, values, name, ""
}

// classes takes the classes of the jobs' data, or returns why it cannot.
func (l *law) classes(p *plan.Plan) string {
	if len(p.Classes) == 0 {
		return ""
	}
	of := make([]int, len(p.Jobs)) // class + 1
	for h := range p.Hosts() {
		if c := p.Nodes[h].Host; c != nil {
			for i := range c.Sends {
				f := &c.Sends[i]
				if !f.Connection {
					continue
				}
				job := p.Flows[f.ID].Job
				if class := int(f.Class) + 1; of[job] == 0 {
					of[job] = class
				} else if of[job] != class {
					return fmt.Sprintf("connections of job %s have different classes", p.Jobs[job].Name)
				}
			}
		}
	}
	if slices.Min(of) == slices.Max(of) {
		return "" // none goes before another
	}
	weighted := make([]int, len(p.Classes)) // jobs
	for i, class := range of {
		if c := &p.Classes[class-1]; c.Strict {
			l.priorities[i] = len(p.Classes) - c.Order
			l.sharing.Strict = true
		} else {
			weighted[class-1]++
		}
	}
	if classes := len(slices.DeleteFunc(slices.Clone(weighted), func(n int) bool { return n == 0 })); classes > 1 {
		for class, n := range weighted {
			if n > 1 || n > 0 && (l.sharing.Slope > 0 || l.sharing.Low > 0) {
				return fmt.Sprintf("class %s shares by weight with other classes, and by congestion control within", p.Classes[class].Name)
			}
		}
		for i, class := range of {
			if c := &p.Classes[class-1]; !c.Strict { // jobs of a strict class share among themselves
				l.weights[i], l.byClass[i] = float64(max(1, c.Weight)), true
			}
		}
		l.words = "weights of the classes"
	}
	if l.sharing.Strict {
		if l.words == "fair" {
			l.words = "strict priorities"
		} else {
			l.words = "strict priorities, then " + l.words
		}
	}
	return ""
}
