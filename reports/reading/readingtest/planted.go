package readingtest

import (
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/units"
)

// Planted is a run folder with records that a test plants. The fabric, its flows and its
// variant are those of Many; each switch port has a locator of its own, its index in
// Manifest.Ports and one more.
type Planted struct {
	Many
	Interval units.Duration
	Measure  runfolder.Window
	Variants []string
	Seeds    int // 0: one
	EndUS    float64
	// Change changes the manifest before it is written. It may be nil.
	Change func(m *runfolder.Manifest)
	// Run plants the records of one run.
	Run    func(m *runfolder.Manifest, variant string, seed uint64, b *metrics.Batch)
	Faults []runfolder.Fault // of all runs
}

// Folder writes the folder and opens it.
func (p *Planted) Folder(t testing.TB) *runfolder.Folder {
	t.Helper()
	m := p.Many.manifest()
	m.Name, m.IntervalUS, m.Measure, m.Details = "planted", p.Interval.Microseconds(), p.Measure, nil
	v := m.Variants[0]
	v.CSIG, v.Locators = "wide", &runfolder.LocatorTable{Scheme: "registry"}
	for i, port := range m.Ports {
		if port.Tier != "host" {
			v.Locators.Locators = append(v.Locators.Locators, runfolder.Locator{Locator: int32(i + 1), Ports: []string{port.Name}})
		}
	}
	m.Variants = nil
	for _, name := range p.Variants {
		v.Name = name
		m.Variants = append(m.Variants, v)
	}
	if p.Change != nil {
		p.Change(&m)
	}
	w, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), m)
	if err != nil {
		t.Fatal(err)
	}
	var runs []runfolder.RunMetrics
	for _, name := range p.Variants {
		for seed := range uint64(max(1, p.Seeds)) {
			b := &metrics.Batch{Traces: []metrics.Trace{{Hash: [32]byte{1}}}, Totals: []metrics.NodeTotals{{Name: "h0"}}}
			p.Run(&m, name, seed+1, b)
			if err := AddRun(w, name, seed+1, b, runfolder.RunData{TraceHash: [32]byte{1}, Checks: []runfolder.Check{{Name: "conservation", OK: true}}, Faults: p.Faults}); err != nil {
				t.Fatal(err)
			}
			runs = append(runs, runfolder.RunMetrics{Variant: name, Seed: seed + 1, TraceHash: [32]byte{1}, Metrics: map[string]float64{"model_ms": p.EndUS / 1000}})
		}
	}
	if err := w.Finish(runfolder.NewSummary(m.Name, runs...)); err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(w.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// PortNamed returns the index of a port of a manifest by its name.
func PortNamed(t testing.TB, m *runfolder.Manifest, name string) int {
	t.Helper()
	for i := range m.Ports {
		if m.Ports[i].Name == name {
			return i
		}
	}
	t.Fatalf("no port %s", name)
	return -1
}

// Window returns the record of a window in which a port was busy for a share of the time,
// with so many bytes in its queue.
func (p *Planted) Window(port *runfolder.Port, startUS, share float64, queue int64) metrics.PortWindow {
	bytes := int64(share * float64(port.RateBPS) / 8e6 * p.Interval.Microseconds())
	return metrics.PortWindow{Node: port.Node, Port: port.Port, Start: units.Time(startUS * float64(units.Microsecond)), TxBytes: bytes, TxPackets: 1 + bytes/4150,
		QueueMax: queue, QueueByteNS: queue * int64(p.Interval/units.Nanosecond), Busy: units.Duration(share * float64(p.Interval)), ABW: metrics.Absent}
}
