package campaign

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// faulty has a variant for each kind of fault.
const faulty = `
schema: 1
name: faulty
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 1MB, 1 -> 3 1MB, 3 -> 0 1MB]}
csig: {format: compact}
hosts: {cc: {name: nscc, csig: max-delay}}
variants:
  intact: {}
  down: {faults: [{kind: down, links: tor0-agg0, at: 20us, for: 40us}]}
  rerouted: {faults: [{kind: down, links: tor0-agg0, at: 20us, for: 40us, reroute_delay: 5us}]}
  notified: {csig.port_down: notify, faults: [{kind: down, links: tor0-agg0, at: 20us, for: 40us}]}
  host-down: {faults: [{kind: down, links: h2-tor1, at: 20us, for: 40us}]}
  rate: {faults: [{kind: rate, links: "tor*-agg*", share: 0.25, at: 10us, for: 60us}]}
  loss: {faults: [{kind: loss, links: tor0-agg*, share: 0.02}]}
  bursts: {faults: [{kind: loss, links: tor0-agg*, share: 0.02, burst: 5}]}
  corruption: {faults: [{kind: corruption, links: h0-tor0, share: 0.05}]}
  restart: {faults: [{kind: restart, switches: agg1, at: 20us, for: 30us}]}
  slow-nic: {faults: [{kind: slow_nic, hosts: h1, rate: 10Gbps}]}
`

// checkFaulty checks a folder of faulty: transfers complete, packets are conserved, and
// each fault is named, with what it dropped.
func checkFaulty(t *testing.T, folder string, clock string) {
	t.Helper()
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]map[string]float64{} // by variant
	for row, err := range f.Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		if values[row.Variant] == nil {
			values[row.Variant] = map[string]float64{}
		}
		values[row.Variant][row.Name] = row.Value
	}
	for i := range f.Manifest.Runs {
		r := &f.Manifest.Runs[i]
		for _, c := range r.Checks {
			if !c.OK && c.Name != "fidelity" { // the machine may be busy
				t.Errorf("%s under clock %s: %s: %s", r.Variant, clock, c.Name, c.Detail)
			}
		}
		m := values[r.Variant]
		if m["flows.incomplete"] != 0 {
			t.Errorf("%s under clock %s: %v flows are incomplete", r.Variant, clock, m["flows.incomplete"])
		}
		if r.Variant == "intact" {
			if _, ok := m["fault_drops"]; ok || len(r.Faults) > 0 {
				t.Errorf("intact has faults: %+v", r.Faults)
			}
			continue
		}
		one := r.Faults[0]
		drops := !slices.Contains([]string{"rate", "slow-nic"}, r.Variant)
		if len(r.Faults) != 1 || !one.Happened || one.What == "" || (one.Arriving+one.Queued > 0) != drops {
			t.Errorf("%s under clock %s: %+v", r.Variant, clock, r.Faults)
		}
		if m["fault_drops"] != float64(one.Arriving+one.Queued) || m["fault_drops."+one.Name] != m["fault_drops"] || m["drops"] < m["fault_drops"] {
			t.Errorf("%s under clock %s: %v drops, %v of faults, %v of %s", r.Variant, clock, m["drops"], m["fault_drops"], m["fault_drops."+one.Name], one.Name)
		}
	}
}

// Each kind of fault in traffic, in virtual time: two runs with one seed are equal, and
// every fault makes the flows slower.
func TestFaultsInVirtualTime(t *testing.T) {
	checkout.SkipSlowRace(t)
	var hashes [2][]string
	for i := range hashes {
		folder := filepath.Join(t.TempDir(), "run")
		got := runIn(t, parseText(t, faulty), Options{Out: folder})
		if !got.Valid {
			t.Errorf("invalid: %q", got.Reasons)
		}
		checkFaulty(t, folder, runtimes.Virtual)
		if down, notified := got.Variants["down"].Metrics["fct_us.mean"], got.Variants["notified"].Metrics["fct_us.mean"]; notified > 0.9*down {
			t.Errorf("the mean FCT is %v us where switches notify senders, %v us where they do not", notified, down)
		}
		for name, v := range got.Variants {
			if name == "notified" {
				continue
			}
			if intact := got.Variants["intact"].Metrics["fct_us.mean"]; name != "intact" && v.Metrics["fct_us.mean"] < 1.1*intact {
				t.Errorf("%s: the mean FCT is %v us, %v us without a fault", name, v.Metrics["fct_us.mean"], intact)
			}
		}
		f, err := runfolder.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range f.Manifest.Runs {
			hashes[i] = append(hashes[i], r.Variant+" "+r.TraceHash)
		}
		slices.Sort(hashes[i])
	}
	if !slices.Equal(hashes[0], hashes[1]) {
		t.Errorf("two runs with one seed differ:\n%s\nand\n%s", strings.Join(hashes[0], "\n"), strings.Join(hashes[1], "\n"))
	}
	if all := slices.Clone(hashes[0]); len(slices.Compact(all)) != 11 {
		t.Errorf("%d runs", len(all))
	}
}

// The same with real frames under lockstep, event for event.
func TestFaultsInLockstep(t *testing.T) {
	checkout.SkipSlowRace(t)
	buildNodes(t)
	opts := overFrames()
	opts.Out = filepath.Join(t.TempDir(), "run")
	if s := runIn(t, parseText(t, faulty), opts); !s.Valid {
		t.Errorf("invalid: %q", s.Reasons)
	}
	checkFaulty(t, opts.Out, runtimes.Lockstep)
}

// The same in real time, in network namespaces and in containers.
func TestFaultsInRealTime(t *testing.T) {
	needTime(t)
	set := parseText(t, faulty)
	everyRuntime(t, func(t *testing.T, runtime string) {
		folder := filepath.Join(t.TempDir(), "run")
		runIn(t, set, Options{Out: folder, Runtime: runtime, Clock: runtimes.Wall})
		checkFaulty(t, folder, runtimes.Wall)
	})
}

// A flow whose destination is gone for ever does not keep a run going, and the notes say
// what has become of it.
func TestStrandedFlows(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct{ fault, open, gaveUp string }{
		{"{kind: down, links: h0-tor0, at: 20us}", "2 of 3", "1 of them gave up"}, // the host holds what it has
		{"{kind: down, links: tor0-*, at: 20us}", "3 of 3", "3 of them gave up"},
		{"{kind: down, links: tor0-*, at: 20us, reroute_delay: 1us}", "3 of 3", "3 of them gave up"},
		{"{kind: loss, links: h2-tor1, at: 20us, share: 1}", "1 of 3", "1 of them gave up"},
	} {
		text := faulty[:strings.Index(faulty, "variants:")] + "faults: [" + c.fault + "]\n"
		folder := filepath.Join(t.TempDir(), "run")
		got := runIn(t, parseText(t, text), Options{Out: folder})
		if !got.Valid {
			t.Errorf("%s: invalid: %q", c.fault, got.Reasons)
		}
		f, err := runfolder.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(f.Manifest.Runs[0].Notes, "\n")
		if !strings.Contains(notes, "faults that do not end left "+c.open+" flows no way") || !strings.Contains(notes, c.gaveUp) {
			t.Errorf("%s: notes %q, want %s and %s", c.fault, notes, c.open, c.gaveUp)
		}
	}
}

// A fault that begins after the end of the run is named.
func TestFaultsThatComeTooLate(t *testing.T) {
	text := faulty[:strings.Index(faulty, "variants:")] + "faults: [{kind: down, links: tor0-agg0, at: 1s, for: 1s}]\n"
	m, r := runVirtual(t, parseText(t, text).Variants[0].Experiment, 1)
	_ = r
	if m["model_ms"] > 1 || m["fault_drops"] != 0 {
		t.Errorf("the run took %v ms and faults dropped %v packets: a fault makes no run longer", m["model_ms"], m["fault_drops"])
	}
}
