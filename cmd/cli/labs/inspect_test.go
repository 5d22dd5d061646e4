package labs

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// The table of nodes tells the interfaces of links from those that programs see: a host's have csig0
// alone.
func TestDescribe(t *testing.T) {
	host := runs.Node{Name: "h0", Kind: "host", PID: 5, Addresses: []string{"10.0.0.1"}, Interfaces: []runs.Interface{{Name: "eth1", Link: "h0-tor0"}}}
	tor := runs.Node{Name: "tor0", Kind: "switch", PID: 6, Interfaces: []runs.Interface{{Name: "eth1", Link: "h0-tor0"}, {Name: "eth2", Link: "x"}}}
	with := host
	with.Interfaces = append(with.Interfaces[:1:1], runs.Interface{Name: "csig0"})
	links := []runs.Link{{Name: "h0-tor0", RateBPS: 1e9, DelayUS: 1}}
	for _, c := range []struct {
		host runs.Node
		want string
	}{
		{host, "NODE  KIND    PID  ADDRESS   INTERFACES\nh0    host    5    10.0.0.1  eth1\ntor0  switch  6              eth1 eth2\n"},
		{with, "NODE  KIND    PID  ADDRESS   INTERFACES  PROGRAMS SEE\nh0    host    5    10.0.0.1  eth1        csig0\ntor0  switch  6              eth1 eth2   eth1 eth2\n"},
	} {
		text := describe(&runs.Run{ID: "a1b2c3d4", Nodes: []runs.Node{c.host, tor}, Links: links})
		if !strings.Contains(text, c.want) || !strings.Contains(text, "h0-tor0  1Gbps  1us    h0 eth1, tor0 eth1\n") {
			t.Errorf("got\n%swant\n%s", text, c.want)
		}
	}
	agg := runs.Node{Name: "agg0", Kind: "switch", PID: 7, Silent: true, Interfaces: []runs.Interface{{Name: "eth1", Link: "x"}}}
	want := "NODE  KIND    PID  ADDRESS   INTERFACES  CSIG\nh0    host    5    10.0.0.1  eth1        \ntor0  switch  6              eth1 eth2   speaks\nagg0  switch  7              eth1        passes\n"
	if text := describe(&runs.Run{ID: "a1b2c3d4", Nodes: []runs.Node{host, tor, agg}, Links: links}); !strings.Contains(text, want) {
		t.Errorf("got\n%swant\n%s", text, want)
	}
}
