package heat

import (
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// The rules by which samples are of heavily loaded ports: abw by the rate of the port that
// the locator names, delay by the target or by packets, nqd by a quarter of the queue.
func TestHeavyRules(t *testing.T) {
	h := &counts{variant: &runfolder.Variant{MTU: 4150}, manifest: &runfolder.Manifest{}, packetUS: 0.332, rate: 12.5e9}
	for _, c := range []struct {
		signal      string
		rate        float64
		light, full float64 // means
	}{
		{"abw", 12.5e9, 3.2e9, 3.1e9}, {"abw", 50e9, 12.6e9, 12.4e9}, {"abw", 0, 1, 1}, {"abw-c", 12.5e9, 250_001, 250_000}, {"nqd", 12.5e9, 250_000, 250_001}, {"delay", 12.5e9, 829, 831},
	} {
		test, ok := h.test(c.signal)
		if !ok || test.heavy(c.light, c.rate) || test.heavy(c.full, c.rate) != (c.rate > 0) {
			t.Errorf("%s at %v byte/s: %+v", c.signal, c.rate, test)
		}
	}
	h.variant.Constants = []runfolder.Constant{{Name: "target_qdelay_us", Value: 10}}
	if d, _ := h.test("delay"); d.rule != HeavyTarget || d.heavy(9_999, 1) || !d.heavy(10_001, 1) {
		t.Errorf("with a target: %+v", d)
	}
	if _, ok := h.test("temperature"); ok {
		t.Error("an unknown signal has a rule")
	}
	h.manifest.ModuleSignals = []runfolder.ModuleSignal{{Name: "room", Unit: "B", Least: true, Heavy: 60_000}, {Name: "hops"}}
	if d, ok := h.test("room"); !ok || d.rule != HeavyModule || d.unit != "kB" || d.scale != 1e-3 || !d.heavy(60_000, 0) || d.heavy(60_001, 0) {
		t.Errorf("least room of a module: %+v", d)
	}
	if d, ok := h.test("hops"); !ok || d.unit != "" || d.scale != 1 || d.heavy(0, 0) || !d.heavy(1, 0) {
		t.Errorf("a count of a module: %+v", d)
	}
}

// Blocks are hosts by ToR; of more ToRs than cells, several; in a fabric with one switch,
// hosts.
func TestBlocks(t *testing.T) {
	for _, c := range []struct {
		links  [][2]string
		by     string
		blocks int
		first  Block
	}{
		{readingtest.FatTree(4), "tor", 8, Block{Name: "tor0", Hosts: 2}},
		{readingtest.FatTree(16), "tors", 64, Block{Name: "tor0–tor1", Hosts: 16}},
		{[][2]string{{"h0", "s0"}, {"h1", "s0"}, {"h2", "s0"}}, "hosts", 3, Block{Name: "h0", Hosts: 1}},
		{[][2]string{{"h0", "h1"}}, "hosts", 2, Block{Name: "h0", Hosts: 1}},
		{nil, "hosts", 0, Block{}},
	} {
		m := readingtest.FabricOfLinks(c.links)
		h := &counts{}
		block := h.place(m.NodesOf("run"), m.PortsOf("run"))
		hosts := 0
		for _, b := range h.blocks {
			hosts += b.Hosts
		}
		if h.by != c.by || len(h.blocks) != c.blocks || c.blocks > 0 && h.blocks[0] != c.first || hosts != len(block) {
			t.Errorf("%d links: by %s, %d blocks, %+v first", len(c.links), h.by, len(h.blocks), h.blocks[:min(1, len(h.blocks))])
		}
	}
}
