package campaign

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/topologies"
)

// runFolder runs an experiment in virtual time and opens its folder.
func runFolder(t *testing.T, text string) *runfolder.Folder {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "run")
	if _, err := Run(t.Context(), parseText(t, text), Options{Out: folder}); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Issue 10, item 7: each row of signals.parquet says which port its locator is, or what
// the ports that share it have in common, with the names that ports.parquet and the
// manifest's locators have too.
func TestSignalsNamePorts(t *testing.T) {
	const text = `
schema: 1
name: named
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, bundle: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 500kB, 1 -> 3 500kB, 1 -> 2 500kB]}
hosts: {cc: {name: nscc, csig: max-delay}}
csig: {format: compact, locators: %s}
`
	for _, c := range []struct {
		scheme         string
		unshared, most int32 // least rows of one port; most ports that share
	}{{"registry", 1, 1}, {"structured", 0, 2}} {
		f := runFolder(t, fmt.Sprintf(text, c.scheme))
		m := &f.Manifest
		places := map[string]runfolder.Place{}
		names := map[int32][]string{}
		for _, l := range m.Variants[0].Locators.Locators {
			if len(l.Ports) != len(l.Places) {
				t.Fatalf("locator %d: %d ports, %d places", l.Locator, len(l.Ports), len(l.Places))
			}
			names[l.Locator] = l.Ports
			for i, name := range l.Ports {
				places[name] = l.Places[i]
			}
		}
		for _, p := range m.Ports {
			want := runfolder.Place{Node: m.Nodes[p.Node].Name, Port: p.Port, Peer: m.Nodes[p.Peer].Name, Tier: p.Tier, Direction: p.Direction}
			if got, ok := places[p.Name]; ok && got != want || ok == (m.Nodes[p.Node].Kind == runfolder.KindHost) {
				t.Errorf("%s: place %+v of locators, %+v of ports", p.Name, got, want)
			}
		}
		if want := (runfolder.Place{Node: "tor1", Port: 3, Peer: "agg0", Tier: "tor", Direction: "up"}); places["tor1:3-agg0"] != want {
			t.Errorf("tor1:3-agg0 is at %+v, want %+v", places["tor1:3-agg0"], want)
		}
		unshared, most, written := int32(0), int32(0), 0
		for row, err := range f.Signals() {
			if err != nil {
				t.Fatal(err)
			}
			if row.Type != "delay" || row.SrcName == "" || row.DstName == "" {
				t.Fatalf("%+v: want type delay and two hosts", row)
			}
			of := names[row.Locator]
			if row.Shared != int32(len(of)) {
				t.Fatalf("%+v: shared by %d ports, want %v", row, row.Shared, of)
			}
			if row.Locator == 0 {
				if row.Shared != 0 || row.Node != nil || row.Port != nil || row.NodeName+row.PortName+row.PeerName+row.Tier+row.Direction != "" {
					t.Fatalf("%+v: locator 0 is no port's", row)
				}
				continue
			}
			written++
			most = max(most, row.Shared)
			for _, name := range of {
				p := places[name]
				if !among(row.NodeName, p.Node) || !among(row.PortName, name) || !among(row.PeerName, p.Peer) || row.Tier != p.Tier || row.Direction != p.Direction || row.Port != nil && *row.Port != p.Port {
					t.Fatalf("%+v: not of %s, %+v", row, name, p)
				}
				if row.Node != nil && m.Nodes[*row.Node].Name != row.NodeName {
					t.Fatalf("%+v: node %d is not %s", row, *row.Node, row.NodeName)
				}
			}
			if row.Shared == 1 {
				unshared++
				if row.PortName == "" || row.Node == nil || row.Port == nil || row.PeerName == "" {
					t.Fatalf("%+v: the locator is one port's, which has names", row)
				}
			}
		}
		if unshared < c.unshared || most != c.most || written == 0 {
			t.Errorf("%s: %d rows, %d of one port, locators shared by up to %d ports; want %d or more and %d", c.scheme, written, unshared, most, c.unshared, c.most)
		}
		for row, err := range f.Ports() {
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(m.Ports, func(p runfolder.Port) bool { return p.Node == row.Node && p.Port == row.Port })
			p := m.Ports[i]
			if row.PortName != p.Name || row.Tier != p.Tier || row.Direction != p.Direction || row.RateBPS != 100e9 || row.PeerName != m.Nodes[p.Peer].Name {
				t.Fatalf("%+v: want the names of %+v", row, p)
			}
			if host := m.Nodes[row.Node].Kind == runfolder.KindHost; host != (row.Tier == topologies.TierHost.String()) {
				t.Fatalf("%+v: tier %s", row, row.Tier)
			}
		}
	}
}

// among reports whether a column that may be null has the value if it has any.
func among(column, value string) bool { return column == "" || column == value }
