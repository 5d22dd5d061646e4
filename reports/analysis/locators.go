package analysis

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// SharedLocators are the locators of variants that stand for several switch ports each:
// a tag with one of them does not say which port wrote its signal.
type SharedLocators struct {
	Variants []string            `json:"variants"` // with these locators, in the experiment's order
	Scheme   string              `json:"scheme"`   // structured or registry
	Ports    int                 `json:"ports"`    // of the fabric's switches
	Sharing  int                 `json:"sharing"`  // ports that share their locators
	Distinct int                 `json:"distinct"` // locators that the ports have
	Locators []runfolder.Locator `json:"locators"` // shared ones, ascending
	Remedy   string              `json:"remedy"`   // setting with which no two ports share a locator; "" if there is none
}

// sharedLocators lists the variants with shared locators. Those with the same table are
// one entry.
func sharedLocators(m *runfolder.Manifest) []SharedLocators {
	all := []SharedLocators{}
	for _, v := range m.Variants {
		if v.Locators == nil {
			continue
		}
		s := SharedLocators{Scheme: v.Locators.Scheme, Distinct: len(v.Locators.Locators), Remedy: v.Locators.Remedy}
		for _, l := range v.Locators.Locators {
			s.Ports += len(l.Ports)
			if len(l.Ports) > 1 {
				s.Sharing += len(l.Ports)
				s.Locators = append(s.Locators, l)
			}
		}
		if s.Sharing == 0 {
			continue
		}
		same := func(o SharedLocators) bool {
			return o.Scheme == s.Scheme && o.Ports == s.Ports && reflect.DeepEqual(o.Locators, s.Locators)
		}
		i := slices.IndexFunc(all, same)
		if i < 0 {
			i = len(all)
			all = append(all, s)
		}
		all[i].Variants = append(all[i].Variants, v.Name)
	}
	return all
}

// Named is a port, or the ports that share a locator, that tags of programs' packets
// named as the bottleneck.
type Named struct {
	Flow   string     `json:"flow"`
	Signal string     `json:"signal"`
	Ports  []string   `json:"ports"`  // one; several when they share the locator; none when no hop wrote the tags
	Shares []*float64 `json:"shares"` // of the samples, median over the seeds, by variant; nil when there is none
}

// leastNamed is the share of the samples from which a port is listed.
const leastNamed = 0.01

// named lists the ports whose share is large enough in some variant.
func named(m *runfolder.Manifest, s *runfolder.Summary) []Named {
	const prefix = "bottleneck_share."
	all := []Named{}
	for i, v := range m.Variants {
		for name, share := range s.Variants[v.Name].Metrics {
			rest, ok := strings.CutPrefix(name, prefix)
			if !ok {
				continue
			}
			n := Named{Shares: make([]*float64, len(m.Variants))}
			n.Flow, rest, _ = strings.Cut(rest, ".")
			n.Signal, rest, _ = strings.Cut(rest, ".")
			n.Ports = portsOf(v.Locators, rest)
			same := func(o Named) bool {
				return o.Flow == n.Flow && o.Signal == n.Signal && slices.Equal(o.Ports, n.Ports)
			}
			at := slices.IndexFunc(all, same)
			if at < 0 {
				at = len(all)
				all = append(all, n)
			}
			all[at].Shares[i] = &share
		}
	}
	all = slices.DeleteFunc(all, func(n Named) bool {
		return !slices.ContainsFunc(n.Shares, func(share *float64) bool { return share != nil && *share >= leastNamed })
	})
	slices.SortFunc(all, func(a, b Named) int {
		return slices.Compare(append([]string{a.Flow, a.Signal}, a.Ports...), append([]string{b.Flow, b.Signal}, b.Ports...))
	})
	return all
}

// portsOf returns the ports that the last part of a bottleneck_share stands for: a port's
// name, the locator that several share, or none. In folders of older versions the part
// joins the names of ports that share a locator by +.
func portsOf(t *runfolder.LocatorTable, name string) []string {
	if name == "none" {
		return []string{}
	}
	if t != nil {
		for _, l := range t.Locators {
			if len(l.Ports) > 1 && name == fmt.Sprintf("locator-%d", l.Locator) {
				return l.Ports
			}
		}
	}
	return strings.Split(name, "+")
}
