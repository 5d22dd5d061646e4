package utilisation

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/sectiontest"
	"github.com/csiglab/csiglab/units"
)

func read(t *testing.T, p *readingtest.Planted) *Section {
	t.Helper()
	s, _ := sectiontest.Read[*Section](t, p.Folder(t), New)
	return s
}

// "A 10 ms line-rate burst per second: 1 s bin 1 %, 100 us bins 0/100 %" (reference
// csig-and-workloads, section 7, item 1). A busier port without a queue beside it does not
// hide it, and one that is never full does not either.
func TestBurstsAtTwoScales(t *testing.T) {
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 3e6}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		uplink := &m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")]
		for second := range 3 {
			for i := range 100 {
				b.Ports = append(b.Ports, p.Window(uplink, float64(second)*1e6+312_300+float64(i)*100, 1, 200_000))
			}
		}
		for i := range 3000 {
			b.Ports = append(b.Ports, p.Window(&m.Ports[readingtest.PortNamed(t, m, "tor0-agg1")], float64(i)*1000, 0.8, 500_000))
		}
	}
	u := read(t, p).Utilisation
	sectiontest.Survives(t, u)
	if len(u) != 1 || len(u[0].Ports) != 1 || u[0].RunMean || u[0].CoarseUS != 1e6 || u[0].FineUS != 100 {
		t.Fatalf("utilisation %+v", u)
	}
	port := u[0].Ports[0]
	near := cmpopts.EquateApprox(0, 1e-6)
	if port.From != "tor0" || port.To != "agg0" {
		t.Fatalf("the most telling port is %s-%s", port.From, port.To)
	}
	if diff := cmp.Diff(port.Coarse, reading.Values{0.01, 0.01, 0.01}, near); diff != "" {
		t.Errorf("bins of a second (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(port.WindowShares, reading.WindowShares{MeanShare: 0.01, P99: 0, Peak: 1, FullShare: 0.01}, near); diff != "" {
		t.Errorf("windows (-got +want):\n%s", diff)
	}
	full := 0
	for i, v := range port.Close {
		if v != 0 && v != 1 {
			t.Errorf("window %d of the excerpt is used to %v, want 0 or 1", i, v)
		}
		at := math.Mod(port.CloseFromUS+float64(i)*100, 1e6)
		if burst := at >= 312_300 && at < 322_300; burst != (v == 1) {
			t.Errorf("the window at %v us is used to %v", at, v)
		}
		if v == 1 {
			full++
		}
	}
	if full != 100 || len(port.Close) != maxClose {
		t.Errorf("%d of %d windows of the excerpt are full, want the 100 of a burst", full, len(port.Close))
	}
	// The curve of the whole run says that windows are full although means are low.
	if m := slices.Max(port.High); m != 1 || slices.Max(port.Low) != 1 || len(port.Mean) > maxCurve {
		t.Errorf("%d values, the highest window %v, the greatest of the lowest ones %v", len(port.Mean), m, slices.Max(port.Low))
	}
	for _, tier := range u[0].Tiers {
		if tier.Tier == "tor" && tier.Direction == "up" {
			if want := (Tier{"tor", "up", 4, reading.WindowShares{MeanShare: (0.01 + 0.08) / 4, P99: 0.8, Peak: 1, FullShare: 0.0025}}); !cmp.Equal(tier, want, cmpopts.EquateApprox(0, 1e-4)) {
				t.Errorf("uplinks of ToRs %+v, want %+v", tier, want)
			}
		}
	}
}

// A run shorter than two seconds has one coarse value: the mean over the run, idle windows
// included, in the measuring window alone.
func TestShortRunHasItsMean(t *testing.T) {
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 1, Hosts: 1}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 2500,
		Measure: runfolder.Window{FromUS: 500}}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		port := &m.Ports[readingtest.PortNamed(t, m, "agg0-tor1")]
		b.Ports = append(b.Ports, p.Window(port, 0, 1, 0), p.Window(port, 1000, 1, 0), p.Window(port, 1200, 0.5, 0))
	}
	u := read(t, p).Utilisation[0]
	if !u.RunMean || u.CoarseUS != 2000 || len(u.Ports) != 1 {
		t.Fatalf("utilisation %+v", u)
	}
	port := u.Ports[0]
	if diff := cmp.Diff(port.Coarse, reading.Values{0.075}, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Errorf("coarse (-got +want):\n%s", diff)
	}
	want := make(reading.Values, 20)
	want[5], want[7] = 1, 0.5
	if diff := cmp.Diff(port.Mean, want, cmpopts.EquateApprox(1e-6, 0)); diff != "" || port.High != nil || port.FullShare != 0.05 {
		t.Errorf("windows, %v of them full (-got +want):\n%s", port.FullShare, diff)
	}
}

// Damaged tables may hold any number.
func TestHostileWindows(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, math.MaxFloat64}
	p := &portCurve{interval: 100, toUS: 1000, coarseUS: 1000, coarse: make([]float64, 1), binUS: 100, bins: make([]curveBin, 10), close: make([]float64, 4)}
	for _, start := range bad {
		for _, bytes := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			for _, rate := range []int64{math.MinInt64, 0, 1, math.MaxInt64} {
				p.add(&runfolder.PortRow{StartUS: start, WindowUS: 100, TxBytes: bytes, TxPackets: bytes, RateBPS: rate, QueueByteNS: bytes})
			}
		}
	}
}
