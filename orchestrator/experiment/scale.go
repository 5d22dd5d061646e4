package experiment

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
)

// Scaling multiplies the rates and the delays of a fabric's links. The delays of switches
// stay.
type Scaling struct{ Rate, Delay float64 }

// Scale returns the overrides that multiply the rate and the delay of every link of a
// topology. Where these stand in a file, an override puts the fabric of the file into the
// experiment. A factor of 1 changes nothing. The error is of a file, or of a fabric that
// cannot be written down.
func (t Topology) Scale(by Scaling) ([]Override, error) {
	v := reflect.ValueOf(t.Spec)
	root := join(topologySection, kindOf(topologySection, v.Type()).Name)
	s := scaler{by: by, root: root, delays: ofLinks}
	scaled := Topology{Spec: s.scale(v, "").Interface().(TopologySpec)}
	if !s.reads {
		return s.overrides, nil
	}
	before, err := t.Build()
	if err != nil {
		return nil, err
	}
	if after, err := scaled.Build(); err == nil && by.matches(before.Graph, after.Graph) {
		return s.overrides, nil
	}
	if before.Tree != nil {
		return []Override{written("topology.fat_tree", by.tree(before.Tree))}, nil
	}
	graph, err := by.graph(before.Graph)
	if err != nil {
		return nil, err
	}
	list := []Override{written("topology.graph", graph)}
	if _, ok := t.Spec.(Graph); ok {
		list = append(list, Override{Path: "topology.graph.file", Value: `""`})
	}
	return list, nil
}

// written returns the override that gives a value as a whole.
func written(path string, value any) Override {
	return Override{Path: path, Value: inline(encode(reflect.ValueOf(value), path))}
}

func (by Scaling) rate(r units.Rate) units.Rate {
	return units.Rate(math.Round(float64(r) * by.Rate))
}

func (by Scaling) delay(d units.Duration) units.Duration {
	return units.Duration(math.Round(float64(d) * by.Delay))
}

// matches reports whether every link of a graph is that of another, scaled.
func (by Scaling) matches(before, after *topologies.Graph) bool {
	if len(before.Links) != len(after.Links) {
		return false
	}
	for i, l := range before.Links {
		l.Rate, l.Delay = by.rate(l.Rate), by.delay(l.Delay)
		if after.Links[i] != l {
			return false
		}
	}
	return true
}

// tree returns the keys of a fat tree, scaled.
func (by Scaling) tree(g *topologies.FatTree) FatTree {
	f := FatTree{Hosts: g.Hosts, PodSize: g.PodSize}
	for _, t := range g.Tiers {
		f.Tiers = append(f.Tiers, Tier{
			Down: t.RadixDown, Up: t.RadixUp, Oversubscribed: t.Oversubscribed, Bundle: max(1, t.Bundle),
			Rate: by.rate(t.Rate), Delay: by.delay(t.Delay), SwitchDelay: t.SwitchDelay,
		})
	}
	return f
}

// graph returns a fabric node by node and link by link, scaled.
func (by Scaling) graph(g *topologies.Graph) (Graph, error) {
	var out Graph
	for _, n := range g.Nodes {
		node := GraphNode{Name: n.Name, Kind: "host", Tier: byLinks}
		if n.Kind == topologies.Switch {
			node.Kind, node.Tier, node.Delay = "switch", n.Tier.String(), n.Delay
			if _, ok := graphTiers[node.Tier]; !ok {
				node.Tier = byLinks
			}
		}
		out.Nodes = append(out.Nodes, node)
	}
	first := map[[2]int]int{} // by pair of nodes
	for _, l := range g.Links {
		a, b := g.Nodes[l.A.Node].Name, g.Nodes[l.B.Node].Name
		if l.OneWay {
			return out, fmt.Errorf("link %s-%s is used in one direction alone, which topology.graph cannot say", a, b)
		}
		link := GraphLink{A: a, B: b, Rate: by.rate(l.Rate), Delay: by.delay(l.Delay), Count: 1}
		pair := [2]int{min(l.A.Node, l.B.Node), max(l.A.Node, l.B.Node)}
		if i, ok := first[pair]; ok {
			if other := out.Links[i]; other.Rate != link.Rate || other.Delay != link.Delay {
				return out, errors.New("parallel links of " + a + " and " + b + " differ, which topology.graph cannot say")
			}
			out.Links[i].Count++
			continue
		}
		first[pair] = len(out.Links)
		out.Links = append(out.Links, link)
	}
	return out, nil
}

// scaler walks the value of a kind of topology.
type scaler struct {
	by        Scaling
	root      string                 // path of the value
	delays    func(path string) bool // which durations are scaled
	reads     bool                   // the value names a file
	overrides []Override
}

// scale returns a copy of a value with scaled rates and delays, and records them as
// overrides. path is below the root.
func (s *scaler) scale(v reflect.Value, path string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	if keyAt(below(s.root, path)).rule.file && !v.IsZero() {
		s.reads = true
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(s.scale(v.Elem(), path))
		}
	case reflect.Struct:
		for _, m := range members(v.Type()) {
			out.Field(m.field).Set(s.scale(v.Field(m.field), join(path, m.key)))
		}
	case reflect.Slice:
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(s.scale(v.Index(i), fmt.Sprintf("%s[%d]", path, i)))
		}
	}
	switch value := v.Interface().(type) {
	case units.Rate:
		s.put(out, path, value != 0 && s.by.Rate != 1, s.by.rate(value))
	case units.Duration:
		s.put(out, path, value != 0 && s.by.Delay != 1 && s.delays(path), s.by.delay(value))
	}
	return out
}

// put gives a value its scaled one. What is 0 follows from other values.
func (s *scaler) put(out reflect.Value, path string, changes bool, scaled fmt.Stringer) {
	if !changes {
		return
	}
	out.Set(reflect.ValueOf(scaled))
	s.overrides = append(s.overrides, Override{Path: below(s.root, path), Value: scaled.String()})
}

// ofLinks reports whether a delay of a topology is one of links: all are but those of
// switches.
func ofLinks(path string) bool {
	return !strings.HasSuffix(path, "switch_delay") && !strings.HasPrefix(path, "nodes[")
}

// Scale returns the overrides that multiply the rates of a workload by rate and the times of
// its schedule, such as start and every, by time. Times that hosts compute for, and those
// that stand in a file, stay.
func (w Workload) Scale(rate, time float64) (list []Override) {
	if w.Spec == nil {
		return nil
	}
	v := reflect.ValueOf(w.Spec)
	s := scaler{by: Scaling{rate, time}, root: join(workloadSection, kindOf(workloadSection, v.Type()).Name), delays: ofSchedules}
	s.scale(v, "")
	return s.overrides
}

// ofSchedules reports whether a time of a workload says when something is sent.
func ofSchedules(path string) bool {
	_, name, _ := cutLast("."+path, ".")
	return slices.Contains([]string{"start", "stop", "every", "on", "for", "spread"}, name)
}
