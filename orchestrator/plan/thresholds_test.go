package plan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// Thresholds that are auto follow a queue that is shorter than a bandwidth-delay product;
// those that are given and lie beyond the end of the queue are refused at their place.
func TestThresholdsFollowTheQueue(t *testing.T) {
	const text = `schema: 1
name: x
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 1MB]}
%s
`
	compile := func(line string) (*plan.Plan, error) {
		set, err := experiment.Parse("x.yaml", "", fmt.Appendf(nil, text, line), experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return plan.Compile(set.Variants[0].Experiment, 1)
	}
	const mtu = 4150
	for _, c := range []struct {
		line      string
		low, high units.Size // packets
	}{
		{"", 6, 24}, // of 29
		{"links: {queue: 200kB}", 6, 24},
		{"links: {queue: 60kB}", 3, 12},          // 14 packets
		{"links: {queue: 5kB}", 1, 1},            // one
		{"links: {trim_threshold: 60kB}", 3, 12}, // where the queue ends
		{"links: {queue: 60kB, trim: false}", 3, 12},
	} {
		p, err := compile(c.line)
		if err != nil {
			t.Fatalf("%s: %v", c.line, err)
		}
		if got := p.Switch(4).Ports[0].ECN; got.Low != c.low*mtu || got.High != c.high*mtu {
			t.Errorf("%q: thresholds %v and %v, want %d and %d packets", c.line, got.Low, got.High, c.low, c.high)
		}
	}
	for _, c := range []struct{ line, path, want string }{
		{"links: {queue: 60kB, ecn: {high: 80kB}}", "links.ecn.high", "80kB lies above links.queue, 60kB, where the queue ends at a port of 100Gbps; use at most that, or auto, which follows the queue"},
		{"links: {queue: 60kB, ecn: {low: 70kB, high: 80kB}}", "links.ecn.low", "70kB lies above links.queue, 60kB,"},
		{"links: {trim_threshold: 50kB, ecn: {high: 80kB}}", "links.ecn.high", "80kB lies above links.trim_threshold, 50kB,"},
		{"links: {queue: 60kB, aqm: {name: step, threshold: 61kB}}", "links.aqm.threshold", "61kB lies above links.queue, 60kB, where the queue ends"},
		{"classes: [{name: default, queue: 60kB, ecn: {high: 80kB}}]", "classes[0]", "80kB lies above links.queue, 60kB,"},
	} {
		_, err := compile(c.line)
		var at *experiment.PathError
		if !errors.As(err, &at) || at.Path != c.path || !strings.HasPrefix(at.Err.Error(), c.want) {
			t.Errorf("%s: %v, want %s: %s", c.line, err, c.path, c.want)
		}
	}
	for _, line := range []string{
		"links: {queue: 80kB, ecn: {high: 80kB}}",
		"links: {queue: 60kB, ecn: {enabled: false}}",
		"links: {queue: 60kB, ecn: {low: 10kB, high: 80kB}}\nclasses: [{name: default, lossless: true}]", // its queue has no end
	} {
		if _, err := compile(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}
