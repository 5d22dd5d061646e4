package plan

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/class"
	"github.com/csiglab/csiglab/nodes/switch/buffer"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
	"github.com/csiglab/csiglab/units"
)

const (
	notShared   = "not used: ports share no memory"
	notLossless = "not used: no class is lossless"
)

// switches returns a value of the switches' classes; otherwise without classes.
func (a *Auto) switches(value func(c *dataplane.Classes) string, otherwise string) string {
	for n := range a.Plan.Nodes {
		if s := a.Plan.Nodes[n].Switch; s != nil && s.Classes != nil {
			return value(s.Classes) // all have the same
		}
	}
	return otherwise
}

// ingress returns a threshold of flow control, of links by rate and delay.
func (a *Auto) ingress(value func(buffer.IngressLimits) units.Size) string {
	k := slices.IndexFunc(a.Plan.Classes, func(c class.Class) bool { return c.Lossless })
	if k < 0 {
		return notLossless
	}
	type link struct {
		rate units.Rate
		size units.Size
	}
	seen := map[link]bool{}
	var all []rated
	a.eachPort(func(p *dataplane.Port) {
		l := link{p.Rate, value(p.Classes[k].Ingress)}
		if !seen[l] {
			seen[l] = true
			all = append(all, rated{l.rate, l.size.String()})
		}
	})
	return byRate(all)
}

// class returns a value of a class of the experiment's list at the switches' ports.
func (a *Auto) class(at int, value func(p *dataplane.PortClass) string) string {
	k := slices.IndexFunc(a.Plan.Classes, func(c class.Class) bool { return c.Name == a.Experiment.Classes[at].Name })
	if k < 0 {
		return "not used"
	}
	return a.ports(func(p *dataplane.Port) string { return value(&p.Classes[k]) })
}

// flowControlNote says when ports pause their peers, and what they keep free for what comes
// in until these have stopped.
func flowControlNote(p *Plan) string {
	a := &Auto{Plan: p}
	headroom := a.ingress(func(l buffer.IngressLimits) units.Size { return l.Headroom })
	if a.switches(func(c *dataplane.Classes) string { return fmt.Sprint(c.Memory != nil) }, "") == "true" {
		return fmt.Sprintf("links.pfc: for each lossless class a port has headroom of %s beyond XOFF, the dynamic threshold of the shared memory; XON is %s below it",
			headroom, a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOff - l.XOn }))
	}
	return fmt.Sprintf("links.pfc: for each lossless class a port has headroom of %s beyond XOFF at %s; XON is at %s",
		headroom,
		a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOff }),
		a.ingress(func(l buffer.IngressLimits) units.Size { return l.XOn }))
}
