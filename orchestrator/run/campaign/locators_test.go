package campaign

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/predict"
)

// locators returns the number of switch ports of a plan, and how many ports have
// each locator.
func locators(p *plan.Plan) (ports int, count map[uint16]int) {
	count = map[uint16]int{}
	for _, n := range p.Nodes[p.Hosts():] {
		s := n.Switch
		for _, port := range s.Ports {
			ports++
			count[port.Locator]++
		}
	}
	return ports, count
}

// With a registry every port of the three-flow fabric has a compact locator of its
// own, tags carry these, and nothing else changes.
func TestRegistryLocators(t *testing.T) {
	metrics := map[string]map[string]float64{}
	for _, scheme := range []string{"structured", "registry"} {
		e := load(t, "three-flow", "csig.locators="+scheme).Variants[1].Experiment
		if e.CSIG.Format != csig.FormatCompact || e.CSIG.Locators.Scheme.String() != scheme {
			t.Fatalf("format %s, locators %v; want compact and %s", e.CSIG.Format, e.CSIG.Locators, scheme)
		}
		p, err := plan.Compile(e, 1)
		if err != nil {
			t.Fatal(err)
		}
		ports, count := locators(p)
		if own := len(count) == ports; own != (scheme == "registry") {
			t.Errorf("%s: %d ports have %d locators", scheme, ports, len(count))
		}
		if count[0] != 0 {
			t.Errorf("%s: %d ports have the locator 0", scheme, count[0])
		}
		m, out := runVirtual(t, e, 1)
		metrics[scheme] = m
		seen := 0
		for _, s := range out.kept.Signals {
			seen++
			if s.Locator != 0 && count[uint16(s.Locator)] == 0 {
				t.Errorf("%s: a tag has the locator %d, which no port has", scheme, s.Locator)
			}
		}
		if seen == 0 {
			t.Errorf("%s: no signals", scheme)
		}
	}
	for name, want := range metrics["structured"] {
		if strings.HasPrefix(name, "bottleneck_share.") {
			continue // the name has the locator where ports share it
		}
		if got := metrics["registry"][name]; got != want && name != "cpu_seconds" {
			t.Errorf("%s is %v with a registry, %v without", name, got, want)
		}
	}
}

// A fabric with more ports than a tag has locators is refused, at the key that
// asked for them.
func TestRegistryTooSmall(t *testing.T) {
	set := load(t, "dragonfly-72", "csig.format=compact", "csig.locators=registry")
	_, err := predict.Validate(set, nil)
	want := "--set csig.locators=registry: csig.locators: csig: unusable locator: 252 ports, but a tag has room for 63 locators"
	if !errors.Is(err, failure.ErrConfiguration) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := predict.Validate(load(t, "dragonfly-72", "csig.format=wide", "csig.locators=registry"), nil); err != nil {
		t.Errorf("wide: %v", err)
	}
}
