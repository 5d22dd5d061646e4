package campaign

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/units"
)

// folderOfRun runs an experiment and opens its run folder.
func folderOfRun(t *testing.T, set *experiment.Set) *runfolder.Folder {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	result, err := Run(t.Context(), set, Options{Out: dir})
	if err != nil {
		t.Fatal(err)
	}
	if !result.Summary.Valid {
		t.Fatalf("the run is not valid: %+v", result.Summary)
	}
	f, err := runfolder.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// "A 10 ms line-rate burst per second: 1 s bin 1 %, 100 us bins 0/100 %."
//
// Each second a burst of 10 ms leaves h0, whose packets take 3.32 us each: windows lie wholly
// inside of it, or outside, but for the two in which it begins and ends.
func TestBurstsInWindows(t *testing.T) {
	const bursts, packets = 2, 3012 // 3012 packets of 4150 B at 10 Gb/s: 9.99984 ms
	f := folderOfRun(t, parseText(t, fmt.Sprintf(`
schema: 1
name: bursts
end: %ds
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 10Gbps, delay: 1us}}
csig: {signal: abw, format: compact}
hosts: {cc: {name: constant, cwnd: 1MB}}
workload: {start_jitter: 0s, transfers: [{src: 0, dst: 1, size: %[2]dB, start: 0.25s}, {src: 0, dst: 1, size: %[2]dB, start: 1.25s}]}
`, bursts, packets*4086)))
	type bin struct{ busy, full, partial int64 }
	perSecond := map[string]*[bursts]bin{}
	for w, err := range f.Ports() {
		if err != nil {
			t.Fatal(err)
		}
		if w.PortName != "h0-tor0" && w.PortName != "tor0-agg0" && w.PortName != "tor1-h1" {
			continue
		}
		if perSecond[w.PortName] == nil {
			perSecond[w.PortName] = &[bursts]bin{}
		}
		b := &perSecond[w.PortName][int(w.StartUS/1e6)]
		b.busy += *w.BusyPS
		switch share := float64(*w.BusyPS) / (f.Manifest.IntervalUS * 1e6); {
		case share == 1:
			b.full++
		case share > 0 && share < 1:
			b.partial++
		default:
			t.Errorf("%s at %v us: busy for %v of the window", w.PortName, w.StartUS, share)
		}
		// The meter reads what its last whole window of 128 us had.
		switch from := math.Mod(w.StartUS, 1e6) - 250_000; {
		case w.Tier == "host":
			if w.ABWBPS != nil {
				t.Errorf("%s has no meter, and an available bandwidth of %d", w.PortName, *w.ABWBPS)
			}
		case from >= 300 && from < 9_900 && *w.ABWBPS > 1e4:
			t.Errorf("%s at %v us: %d bit/s available in a burst", w.PortName, w.StartUS, *w.ABWBPS)
		}
	}
	if len(perSecond) != 3 {
		t.Fatalf("windows of %d ports, want 3", len(perSecond))
	}
	for name, bins := range perSecond {
		for second, b := range bins {
			if share := float64(b.busy) / float64(units.Second); math.Abs(share-0.01) > 1e-6 {
				t.Errorf("%s is busy for %.4f %% of second %d, want 1 %%", name, share*100, second)
			}
			if b.full < 99 || b.full > 100 || b.partial > 2 {
				t.Errorf("%s, second %d: %d windows at line rate and %d between, want 99 or 100 and at most the burst's two ends", name, second, b.full, b.partial)
			}
		}
	}
}

// blocks is a fabric in which there is one path from each leaf to each other one, with
// streams of a constant rate between them whose frames fit into a meter's window exactly.
const blocks = `
schema: 1
name: blocks
end: 3ms
topology: {leaf_spine: {leaves: 4, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
csig:
  format: FORMAT
  signal: abw
  ports: [{switch: tor*, to: host, policy: terminate, init: every, signals: [abw]}]
generators:
  - {host: 0, to: 2, size: 1000B, every: 160ns} # 50 Gb/s
  - {host: 1, to: 4, size: 1000B, every: 320ns} # 25 Gb/s
  - {host: 3, to: 5, size: 1000B, every: 200ns} # 40 Gb/s
  - {host: 6, to: 4, size: 500B, every: 160ns}  # 25 Gb/s
  - {host: 7, to: 2, size: 1000B, every: 800ns} # 10 Gb/s
`

// "CSIG mean ABW per cell within one bucket of the emulator's ground-truth min over hops."
//
// The ground truth is the mean of what the meters of the ports gave. Of constant streams
// that is what is left of their rates, so that it is checked too. The port to the last
// host is outside the domain: it takes the sample.
func TestMeanABWOfCells(t *testing.T) {
	checkout.SkipSlowRace(t)
	const steady = 500 // us; from here on all meters have whole windows of the streams
	rates := map[[2]string]float64{{"tor0", "tor1"}: 50e9, {"tor0", "tor2"}: 25e9, {"tor1", "tor2"}: 40e9, {"tor3", "tor2"}: 25e9, {"tor3", "tor1"}: 10e9}
	for _, format := range []string{"compact", "wide"} {
		f := folderOfRun(t, parseText(t, strings.Replace(blocks, "FORMAT", format, 1)))
		type sum struct{ total, n float64 }
		truth := map[string]*sum{} // by port, B/s
		for w, err := range f.Ports() {
			if err != nil {
				t.Fatal(err)
			}
			if w.ABWBPS == nil || w.StartUS < steady {
				continue
			}
			if truth[w.PortName] == nil {
				truth[w.PortName] = &sum{}
			}
			truth[w.PortName].total += float64(*w.ABWBPS) / 8
			truth[w.PortName].n++
		}
		type cell struct{ point, low, high, n float64 }
		cells := map[[2]string]*cell{} // by leaves
		for w, err := range f.Signals() {
			if err != nil {
				t.Fatal(err)
			}
			if w.StartUS < steady {
				continue
			}
			leaf := func(host string) string { return fmt.Sprint("tor", (host[1]-'0')/2) }
			key := [2]string{leaf(w.SrcName), leaf(w.DstName)}
			if cells[key] == nil {
				cells[key] = &cell{}
			}
			c := cells[key]
			c.point, c.low, c.high, c.n = c.point+float64(w.PointSum), c.low+float64(*w.LowSum), c.high+float64(*w.HighSum), c.n+float64(w.Samples)
		}
		if len(cells) != len(rates) {
			t.Fatalf("%s: %d cells, want %d", format, len(cells), len(rates))
		}
		for key, c := range cells {
			want, planted := math.Inf(1), 0.0
			for _, port := range []string{key[0] + "-agg0", "agg0-" + key[1]} {
				want = min(want, truth[port].total/truth[port].n)
				load := 0.0
				for pair, rate := range rates {
					if pair[0]+"-agg0" == port || "agg0-"+pair[1] == port {
						load += rate
					}
				}
				planted = max(planted, load)
			}
			if planted = (100e9 - planted) / 8; math.Abs(want-planted) > 1 {
				t.Errorf("%s, %v: the meters gave %.0f B/s, the streams leave %.0f", format, key, want, planted)
			}
			low, high, point := c.low/c.n, c.high/c.n, c.point/c.n
			if want < low-1 || want > high+1 || math.Abs(point-want) > high-low+1 || c.n < 1000 {
				t.Errorf("%s, %v: mean of %.0f samples %.0f B/s, from %.0f to %.0f; the meters' is %.0f", format, key, c.n, point, low, high, want)
			}
		}
	}
}

// While congestion comes and goes, each sample is what the meter of the port that it names
// gave between the sending of its packet and the arrival of its ACK: the windows of the port
// in this time go down to it.
func TestSamplesAreReadings(t *testing.T) {
	f := folderOfRun(t, parseText(t, `
schema: 1
name: readings
topology: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}}
csig: {format: wide, signal: abw, locators: registry, meter: sliding}
hosts: {cc: nscc}
workload: {transfers: [0 -> 4 2MB, {src: 2, dst: 5, size: 1MB, start: 100us}, {src: 1, dst: 4, size: 500kB, start: 150us}]}
trace: {flows: ["*"], events: [sample]}
`))
	lowest := map[string]map[int]float64{} // B/s, by port and window
	for w, err := range f.Ports() {
		if err != nil {
			t.Fatal(err)
		}
		if w.ABWBPS != nil {
			if lowest[w.PortName] == nil {
				lowest[w.PortName] = map[int]float64{}
			}
			lowest[w.PortName][int(w.StartUS/f.Manifest.IntervalUS)] = float64(*w.ABWBPS) / 8
		}
	}
	samples, values := 0, map[int64]bool{}
	for e, err := range f.Events() {
		if err != nil {
			t.Fatal(err)
		}
		leaf := func(host string) string { return fmt.Sprint("tor", (host[1]-'0')/2) }
		path := []string{leaf(e.SrcName) + "-agg0", "agg0-" + leaf(e.DstName), leaf(e.DstName) + "-" + e.DstName}
		if !slices.Contains(path, e.PortName) || e.Low == nil || e.High == nil || e.Action == "" || e.Cwnd == nil {
			t.Fatalf("a sample of %s names %q, with %v, %v, %q, %v", e.FlowName, e.PortName, e.Low, e.High, e.Action, e.Cwnd)
		}
		if e.AgeUS == nil { // it is not known which transmission the ACK answers
			continue
		}
		first, last := int((e.TimeUS-*e.AgeUS)/f.Manifest.IntervalUS), int(e.TimeUS/f.Manifest.IntervalUS)
		least := math.Inf(1)
		for window := first; window <= last; window++ {
			if value, ok := lowest[e.PortName][window]; ok {
				least = min(least, value)
			}
		}
		if least > float64(*e.High) {
			t.Fatalf("%s at %v us: %d to %d B/s of %s, whose windows %d to %d go down to %.0f", e.FlowName, e.TimeUS, *e.Low, *e.High, e.PortName, first, last, least)
		}
		samples++
		values[*e.Point] = true
	}
	if samples < 400 || len(values) < 20 {
		t.Errorf("%d samples with %d values", samples, len(values))
	}
}

// "Sampling 1/N changes the mean by no more than the bucket width at n >= 1000."
//
// The load of the path changes while it is sampled: it is 0, 30 and 60 Gb/s in turn.
func TestSampling(t *testing.T) {
	const text = `
schema: 1
name: sampling
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 3, rate: 100Gbps, delay: 1us}}
csig: {format: FORMAT, signal: abw, init: INIT}
hosts: {cc: {name: constant, cwnd: 12450B}}
workload: {transfers: [0 -> 3 40MB]}
generators:
  - {host: 1, to: 4, size: 1000B, rate: 30Gbps, start: 1ms, count: 20000}
  - {host: 2, to: 5, size: 1000B, rate: 30Gbps, start: 3ms, count: 12000}
`
	for _, format := range []string{"compact", "wide"} {
		mean := func(init string) (point, width, n float64) {
			_, r := runVirtual(t, parseText(t, strings.NewReplacer("FORMAT", format, "INIT", init).Replace(text)).Variants[0].Experiment, 1)
			var low, high float64
			points := []int64{}
			for _, w := range r.kept.Signals {
				point, low, high, n = point+float64(w.PointSum), low+float64(w.LowSum), high+float64(w.HighSum), n+float64(w.Samples)
				points = append(points, w.PointMin, w.PointMax)
			}
			if slices.Max(points) < 2*slices.Min(points) {
				t.Errorf("%s, %s: all samples are from %d to %d B/s", format, init, slices.Min(points), slices.Max(points))
			}
			return point / n, (high - low) / n, n
		}
		all, width, _ := mean("every")
		if format == "wide" {
			// A bucket is 16 kB/s: less than what a frame is in a meter's window (32 MB/s). The
			// windows that are sampled matter then.
			width = 4150 / 128e-6
		}
		for _, init := range []string{"1/8", "stride/8"} {
			sampled, _, n := mean(init)
			if n < 1000 || n > 2000 {
				t.Errorf("%s, %s: %.0f samples, want 1000 to 2000", format, init, n)
			}
			if math.Abs(sampled-all) > width {
				t.Errorf("%s, %s: mean of %.0f samples %.0f B/s, of all %.0f B/s: more than %.0f apart", format, init, n, sampled, all, width)
			}
		}
	}
}
