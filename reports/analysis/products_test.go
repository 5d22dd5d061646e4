package analysis

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
	"github.com/csiglab/csiglab/units"
)

// "A 10 ms line-rate burst per second: 1 s bin 1 %, 100 us bins 0/100 %" (reference
// csig-and-workloads, section 7, item 1). A busier port without a queue beside it does not
// hide it, and one that is never full does not either.
func TestBurstsAtTwoScales(t *testing.T) {
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 3e6}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		uplink := &m.Ports[analysistest.PortNamed(t, m, "tor0-agg0")]
		for second := range 3 {
			for i := range 100 {
				b.Ports = append(b.Ports, p.Window(uplink, float64(second)*1e6+312_300+float64(i)*100, 1, 200_000))
			}
		}
		for i := range 3000 {
			b.Ports = append(b.Ports, p.Window(&m.Ports[analysistest.PortNamed(t, m, "tor0-agg1")], float64(i)*1000, 0.8, 500_000))
		}
	}
	u := numbers(t, p.Folder(t)).Utilisation
	if len(u) != 1 || len(u[0].Ports) != 1 || u[0].RunMean || u[0].CoarseUS != 1e6 || u[0].FineUS != 100 {
		t.Fatalf("utilisation %+v", u)
	}
	port := u[0].Ports[0]
	near := cmpopts.EquateApprox(0, 1e-6)
	if port.From != "tor0" || port.To != "agg0" {
		t.Fatalf("the most telling port is %s-%s", port.From, port.To)
	}
	if diff := cmp.Diff(port.Coarse, Values{0.01, 0.01, 0.01}, near); diff != "" {
		t.Errorf("bins of a second (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(port.WindowShares, WindowShares{MeanShare: 0.01, P99: 0, Peak: 1, FullShare: 0.01}, near); diff != "" {
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
			if want := (TierUtilisation{"tor", "up", 4, WindowShares{MeanShare: (0.01 + 0.08) / 4, P99: 0.8, Peak: 1, FullShare: 0.0025}}); !cmp.Equal(tier, want, cmpopts.EquateApprox(0, 1e-4)) {
				t.Errorf("uplinks of ToRs %+v, want %+v", tier, want)
			}
		}
	}
}

// A run shorter than two seconds has one coarse value: the mean over the run, idle windows
// included, in the measuring window alone.
func TestShortRunHasItsMean(t *testing.T) {
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 2, Spines: 1, Hosts: 1}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 2500,
		Measure: runfolder.Window{FromUS: 500}}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		port := &m.Ports[analysistest.PortNamed(t, m, "agg0-tor1")]
		b.Ports = append(b.Ports, p.Window(port, 0, 1, 0), p.Window(port, 1000, 1, 0), p.Window(port, 1200, 0.5, 0))
	}
	u := numbers(t, p.Folder(t)).Utilisation[0]
	if !u.RunMean || u.CoarseUS != 2000 || len(u.Ports) != 1 {
		t.Fatalf("utilisation %+v", u)
	}
	port := u.Ports[0]
	if diff := cmp.Diff(port.Coarse, Values{0.075}, cmpopts.EquateApprox(1e-6, 0)); diff != "" {
		t.Errorf("coarse (-got +want):\n%s", diff)
	}
	want := make(Values, 20)
	want[5], want[7] = 1, 0.5
	if diff := cmp.Diff(port.Mean, want, cmpopts.EquateApprox(1e-6, 0)); diff != "" || port.High != nil || port.FullShare != 0.05 {
		t.Errorf("windows, %v of them full (-got +want):\n%s", port.FullShare, diff)
	}
}

// Steps of different lengths are laid over each other from their beginnings; a burst that is
// planted at one time in each step is at this time in the signature, at whatever time of a
// telemetry window a step begins.
func TestSignatureShowsPlantedBursts(t *testing.T) {
	const (
		burstFrom, burstTo = 400, 700 // in the step, in us, at agg0-tor1
		backFrom, backTo   = 800, 900 // at tor0-agg0, at half of the rate, in the longer steps
	)
	begins, ends := []float64{0, 1000, 2000, 3500}, []float64{1000, 1800, 3500, 4700}
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 2, Spines: 1, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 5000}
	p.Change = func(m *runfolder.Manifest) {
		m.Jobs = []runfolder.Job{{Name: "train", Ranks: []int32{0, 1, 2, 3}, Steps: 4, Phases: []string{"forward"}, FirstSteps: 4,
			Collectives: []runfolder.Collective{{Name: "dp", Kind: "all_reduce", Ranks: 2}}}}
	}
	us := func(t float64) units.Time { return units.Time(t * float64(units.Microsecond)) }
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		burst, back := &m.Ports[analysistest.PortNamed(t, m, "agg0-tor1")], &m.Ports[analysistest.PortNamed(t, m, "tor0-agg0")]
		for i := range begins {
			step := int32(i + 1)
			for at := burstFrom; at < burstTo; at += 100 {
				b.Ports = append(b.Ports, p.Window(burst, begins[i]+float64(at), 1, 0))
			}
			if ends[i]-begins[i] > backTo {
				w := p.Window(back, begins[i]+backFrom, 0.5, 0)
				w.ABW = int64(0.5 * float64(back.RateBPS) / 8)
				if i == 2 { // its meter has seen less for a moment
					w.ABW /= 2
				}
				b.Ports = append(b.Ports, w)
			}
			b.Instances = append(b.Instances, metrics.Instance{Tag: metrics.Tag{Step: step}, Ranks: 4, Begin: us(begins[i]), LastBegin: us(begins[i]), End: us(ends[i])})
			for group := range int32(2) {
				from := begins[i] + 400 + 100*float64(group)
				b.Instances = append(b.Instances, metrics.Instance{Tag: metrics.Tag{Step: step, Collective: 1, Group: group}, Ranks: 2, Begin: us(from), LastBegin: us(from), End: us(from + 250)})
			}
			for rank := range int32(4) {
				b.Operations = append(b.Operations, metrics.Operation{Rank: rank, Op: uint32(10*i + 1), Kind: metrics.OperationSpan, Tag: metrics.Tag{Step: step, Phase: 1}, Peer: -1, Flow: -1, After: -1,
					Ready: us(begins[i]), Start: us(begins[i]), End: us(begins[i] + 300)})
			}
		}
	}
	r := numbers(t, p.Folder(t))
	if len(r.Signatures) != 1 {
		t.Fatalf("%d signatures", len(r.Signatures))
	}
	s := r.Signatures[0]
	if s.Job != "train" || s.Steps != 4 || s.StepUS != (Spread{4, 800, 1500}) || s.BinUS != 100 || s.Bins != 15 || !s.AllPorts || len(s.Rows) != 2 || s.Measured {
		t.Fatalf("signature %+v", s)
	}
	if !slices.Equal(s.StepTimesUS, Values{1000, 800, 1500, 1200}) {
		t.Errorf("steps of %v µs", s.StepTimesUS)
	}
	if s.Rows[0].Name != "tor0-agg0" || s.Rows[1].Name != "agg0-tor1" {
		t.Fatalf("rows %+v, want those up first", s.Rows)
	}
	if want := []int{4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 2, 2, 1, 1, 1}; !slices.Equal(s.Folded, want) {
		t.Errorf("steps by bin %v, want %v", s.Folded, want)
	}
	for b := range s.Bins {
		used, back := int8(0), int8(0)
		if at := b * 100; at >= burstFrom && at < burstTo {
			used = 100
		} else if at == backFrom { // three of the steps are so long
			back = 50
		}
		if got := s.Utilisation[1][b]; got != used || s.Available[1][b] != 100-used {
			t.Errorf("agg0-tor1, bin %d: used to %d %%, at least %d %% left; want %d and %d", b, got, s.Available[1][b], used, 100-used)
		}
		if got := s.Utilisation[0][b]; got != back || s.Available[0][b] != 100-back-back/2 {
			t.Errorf("tor0-agg0, bin %d: used to %d %%, want %d", b, got, back)
		}
	}
	active := func(percents ...int8) Percents { return append(percents, make(Percents, 15-len(percents))...) }
	want := []SignatureSpan{
		{Name: "forward", Phase: true, Ranks: 4, Groups: 4, Instances: 1, EndUS: 300, Active: active(100, 100, 100)},
		{Name: "dp", Ranks: 4, Groups: 2, Instances: 1, BeginUS: 400, EndUS: 750, Active: active(0, 0, 0, 0, 50, 100, 75, 25)},
	}
	if diff := cmp.Diff(s.Spans, want); diff != "" {
		t.Errorf("spans (-got +want):\n%s", diff)
	}
}

// Steps that begin within a window share its bytes by time.
func TestFoldSplitsWindows(t *testing.T) {
	f := &fold{}
	f.add(2, 250, 490) // in the order of the table, which is not that of time
	f.add(1, 0, 300)   // it ends after the next one has begun
	f.add(3, 0, math.NaN())
	f.settle(100)
	if f.bins != 3 || f.steps[0].toUS != 250 || f.spans != (Spread{2, 240, 250}) {
		t.Fatalf("fold %+v", f)
	}
	got := map[int]float64{}
	f.each(200, 300, func(bin int, part, _ float64) { got[bin] += part })
	f.each(450, 550, func(bin int, part, _ float64) { got[10+bin] += part })
	if want := map[int]float64{2: 50, 0: 50, 12: 40}; !cmp.Equal(got, want) {
		t.Errorf("parts %v, want %v", got, want)
	}
	us, steps := f.cover()
	if !slices.Equal(us, []float64{200, 200, 90}) || !slices.Equal(steps, []int{2, 2, 2}) {
		t.Errorf("bins have %v us of %v steps", us, steps)
	}
}

// Of a large fabric the busiest ports of each tier have rows, and a row of each stands for
// the others, so that nothing is left out.
func TestSignatureOfManyPorts(t *testing.T) {
	checkout.SkipSlowRace(t)
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 20, Spines: 2, Hosts: 4}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 40_100}
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		for i := range m.Ports {
			share := 0.2
			if m.Ports[i].Name == "tor7-agg1" || m.Ports[i].Name == "tor19-h79" {
				share = 0.9
			}
			for at := range 401 {
				b.Ports = append(b.Ports, p.Window(&m.Ports[i], float64(at)*100, share, 0))
			}
		}
	}
	s := numbers(t, p.Folder(t)).Signatures[0]
	if s.AllPorts || len(s.Rows) > SignatureRows || s.Bins > SignatureBins || s.BinUS != 200 {
		t.Fatalf("%d rows of %d bins of %v us", len(s.Rows), s.Bins, s.BinUS)
	}
	ports, groups := 0, 0
	for i, row := range s.Rows {
		ports += row.Ports
		want := int8(20)
		if row.Name == "tor7-agg1" || row.Name == "tor19-h79" {
			want = 90
		}
		if row.Ports > 1 {
			groups++
		}
		if s.Utilisation[i][0] != want || s.Available[i][5] != 100-want {
			t.Errorf("row %+v: %d %% used, want %d", row, s.Utilisation[i][0], want)
		}
	}
	if ports != 2*80+2*40 || groups != 4 {
		t.Errorf("rows of %d ports, %d of them of several; want %d and 4", ports, groups, 2*80+2*40)
	}
	for _, name := range []string{"tor7-agg1", "tor19-h79"} {
		if !slices.ContainsFunc(s.Rows, func(r SignatureRow) bool { return r.Name == name }) {
			t.Errorf("%s, one of the busiest of its tier, has no row", name)
		}
	}
}

// plantSamples appends a window of samples of a flow.
func plantSamples(b *metrics.Batch, flow int32, signal uint8, locator int, startUS float64, n, point int64) {
	b.Signals = append(b.Signals, metrics.SignalWindow{Flow: flow, Type: signal, Locator: uint32(locator), Start: units.Time(startUS * float64(units.Microsecond)), Samples: n, PointSum: n * point, PointMax: point, PointMin: point})
}

// "Planted oversubscribed ToR uplink dominates the LM mode for exactly the cells crossing
// it"; "ties of the mode broken by lower LM; cells under n=20 samples shown as empty"; "only
// among heavily loaded bottleneck links" (section 7, item 2 and the table).
func TestHeatmapNamesThePlantedUplink(t *testing.T) {
	const abwc = 1 // in Manifest.Signals
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 4, Spines: 1, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, Seeds: 2, EndUS: 1000}
	var uplink, tieLow, tieHigh int
	p.Run = func(m *runfolder.Manifest, _ string, seed uint64, b *metrics.Batch) {
		locator := func(name string) int { return analysistest.PortNamed(t, m, name) + 1 }
		uplink, tieLow, tieHigh = locator("tor1-agg0"), locator("agg0-tor3"), locator("tor3-h6")
		tieLow, tieHigh = min(tieLow, tieHigh), max(tieLow, tieHigh)
		for _, f := range m.Flows {
			src, dst := int(f.Src)/2, int(f.Dst)/2
			switch {
			case src == 1 && dst != 1: // they cross the uplink, which has little left; more samples name an idle port
				plantSamples(b, f.Flow, abwc, uplink, 200, 12, 100_000)
				plantSamples(b, f.Flow, abwc, tieHigh, 300, 30, 900_000)
			case src == 0 && dst == 3: // a tie of two heavily loaded ports
				plantSamples(b, f.Flow, abwc, tieHigh, 200, 10, 240_000)
				plantSamples(b, f.Flow, abwc, tieLow, 300, 10, 240_000)
			case src == 2 && dst == 3: // 19 heavily loaded samples, by both seeds and four flows
				if seed == 1 && f.Src == 4 && f.Dst == 6 {
					plantSamples(b, f.Flow, abwc, tieLow, 200, 19, 0)
				}
				plantSamples(b, f.Flow, abwc, tieLow, 300, 5, 800_000)
			case src == 3 && dst == 2: // too few samples
				if seed == 1 && f.Src == 6 && f.Dst == 4 {
					plantSamples(b, f.Flow, abwc, uplink, 200, 19, 0)
				}
			default: // no hop wrote the tags, or the port has enough left
				plantSamples(b, f.Flow, abwc, 0, 200, 40, 0)
				plantSamples(b, f.Flow, abwc, tieLow, 200, 40, 260_000)
			}
		}
	}
	maps := numbers(t, p.Folder(t)).Heatmaps
	if len(maps) != 1 || maps[0].Signal != "abw-c" || maps[0].Unit != "%" || maps[0].Threshold != 25 || !maps[0].Below || maps[0].By != "tor" || len(maps[0].Blocks) != 4 || maps[0].Seeds != 2 {
		t.Fatalf("heatmaps %+v", maps)
	}
	h := maps[0]
	named := func(src, dst int) string {
		if at := h.Modal[src][dst]; at >= 0 {
			return h.Locators[at].Ports[0]
		}
		return ""
	}
	for src := range 4 {
		for dst := range 4 {
			want := ""
			switch {
			case src == 1 && dst != 1:
				want = "tor1-agg0"
			case src == 0 && dst == 3:
				want = "tor3-h6" // its locator is the lower one
			}
			if got := named(src, dst); got != want {
				t.Errorf("from %s to %s the modal bottleneck is %q, want %q", h.Blocks[src].Name, h.Blocks[dst].Name, got, want)
			}
			if (want == "") != math.IsNaN(h.Share[src][dst]) || want == "tor1-agg0" && h.Share[src][dst] != 1 || want == "tor3-h6" && h.Share[src][dst] != 0.5 {
				t.Errorf("from %d to %d its share is %v", src, dst, h.Share[src][dst])
			}
		}
	}
	if got := h.Mean[1][0]; math.Abs(got-(12*10+30*90)/42.0) > 1e-3 { // weighted by samples
		t.Errorf("mean %v", got)
	}
	if !math.IsNaN(h.Mean[3][2]) || h.Samples[3][2] != 19 || h.Heavy[3][2] != 19 || h.Samples[2][3] != 19+2*4*5 || h.Heavy[2][3] != 19 {
		t.Errorf("a cell of 19 samples: mean %v, %d samples, %d heavy", h.Mean[3][2], h.Samples[3][2], h.Heavy[3][2])
	}
}

// The rules by which samples are of heavily loaded ports: abw by the rate of the port that
// the locator names, delay by the target or by packets, nqd by a quarter of the queue.
func TestHeavyRules(t *testing.T) {
	h := &heatReader{variant: &runfolder.Variant{MTU: 4150}, manifest: &runfolder.Manifest{}, packetUS: 0.332, rate: 12.5e9}
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
func TestHeatmapBlocks(t *testing.T) {
	for _, c := range []struct {
		links  [][2]string
		by     string
		blocks int
		first  Block
	}{
		{fatTree(4), "tor", 8, Block{"tor0", 2}},
		{fatTree(16), "tors", 64, Block{"tor0–tor1", 16}},
		{[][2]string{{"h0", "s0"}, {"h1", "s0"}, {"h2", "s0"}}, "hosts", 3, Block{"h0", 1}},
		{[][2]string{{"h0", "h1"}}, "hosts", 2, Block{"h0", 1}},
		{nil, "hosts", 0, Block{}},
	} {
		m := fabricOfLinks(c.links)
		h := &heatReader{}
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

// "After rerouting the mode moves" (section 7, item 3): from an uplink of a ToR to a port to
// a host between variants, and to another uplink at a fault. The seeds say how sure it is.
func TestShiftsOfTheBottleneck(t *testing.T) {
	const abwc = 1
	p := &analysistest.Planted{Many: analysistest.Many{Leaves: 4, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"before", "after"}, Seeds: 3, EndUS: 2000}
	until := 1550.0
	p.Faults = []runfolder.Fault{{Name: "late", FromUS: 1800, Happened: true, What: "later"}, {Name: "never", FromUS: 10, What: "it did not happen"},
		{Name: "always", FromUS: 0, Happened: true, What: "from the beginning"}, {Name: "down", FromUS: 950, UntilUS: &until, Happened: true, What: "tor0-agg0 down"}}
	p.Run = func(m *runfolder.Manifest, variant string, seed uint64, b *metrics.Batch) {
		index := func(name string) int { return analysistest.PortNamed(t, m, name) }
		for at := 0.0; at < 2000; at += 100 {
			name := "tor0-agg0"
			switch {
			case variant == "after":
				name = "tor3-h6"
			case at > 900 && at < 1550:
				name = "tor0-agg1"
			case seed == 3:
				name = "agg1-tor2"
			}
			plantSamples(b, 5, abwc, index(name)+1, at, 10, 50_000)
			plantSamples(b, 5, abwc, index("agg0-tor3")+1, at, 100, 500_000)                                                                 // there is enough left
			b.Ports = append(b.Ports, p.Window(&m.Ports[index(name)], at, 0.9, 8300), p.Window(&m.Ports[index("agg0-tor3")], at, 0.99, 100), // no queue
				p.Window(&m.Ports[0], at, 1, 1e6)) // a NIC
		}
	}
	shifts := numbers(t, p.Folder(t)).Shifts
	if len(shifts) != 2+2+2 {
		t.Fatalf("%d shifts %+v", len(shifts), shifts)
	}
	for i, s := range shifts {
		if want := []ShiftBasis{BasisSamples, BasisWindows}[i%2]; s.Basis != want || (s.Signal == "abw-c") != (want == BasisSamples) {
			t.Errorf("shift %d is of %s %s", i, s.Basis, s.Signal)
		}
		if s.Seeds != 3 {
			t.Errorf("shift %d of %d seeds", i, s.Seeds)
		}
		place := func(at int) string {
			if at < 0 {
				return ""
			}
			return s.Places[at].key()
		}
		per := int64(1) // windows have one
		if s.Basis == BasisSamples {
			per = 10
		}
		switch i / 2 {
		case 0:
			if s.Fault != "" || s.Before.Variant != "before" || s.After.Variant != "after" || !s.Moved || place(s.From) != "tor0-agg0" || place(s.To) != "tor3-h6" || s.Agree != 2 {
				t.Errorf("of variants: %+v", s)
			}
			from, to := s.Tiers[s.FromTier], s.Tiers[s.ToTier]
			if from.Tier != "tor" || from.Direction != "up" || to.Tier != "tor" || to.Direction != "down" || to.After.Share != 1 || to.Before.Share != 0 {
				t.Errorf("of variants: from %+v to %+v", from, to)
			}
			if want := (ShiftShare{Share: (2*20 + 6) / 60.0, Seeds: Spread{3, 6 / 20.0, 1}}); !cmp.Equal(from.Before, want, cmpopts.EquateApprox(1e-9, 0)) {
				t.Errorf("share of the uplinks %+v, want %+v", from.Before, want)
			}
		case 1:
			// Whole windows before 950 us, and from 1000 to 1500 us.
			if s.Fault != "tor0-agg0 down" || s.Before.ToUS != 950 || s.After.FromUS != 950 || s.After.ToUS != 1550 || s.Before.Heavy != 3*9*per || s.After.Heavy != 3*5*per {
				t.Errorf("of the fault: %+v", s)
			}
			if !s.Moved || place(s.From) != "tor0-agg0" || place(s.To) != "tor0-agg1" || s.FromTier != s.ToTier || s.Agree != 2 {
				t.Errorf("of the fault: %+v", s)
			}
		case 2:
			if s.Moved || s.Before.Variant != "after" || s.Agree != 3 || place(s.From) != "tor3-h6" {
				t.Errorf("of the fault, in a variant that it does not touch: %+v", s)
			}
		}
	}
}

// Where many ports share what is heavily loaded, the first of them by a few samples is no
// place that a bottleneck has moved to.
func TestEvenLoadDoesNotMove(t *testing.T) {
	counts := func(first string) shiftCounts {
		c := shiftCounts{heavy: map[string]int64{}}
		for _, name := range []string{"a", "b", "c", "d", "e"} {
			c.heavy[name] = 100
		}
		c.heavy[first]++
		return c
	}
	tier := shiftCounts{heavy: map[string]int64{"tor up": 501}}
	if got := topsOf([2]shiftCounts{counts("a"), counts("b")}, [2]shiftCounts{tier, tier}); got.moved || got.places != [2]string{"a", "b"} {
		t.Errorf("tops %+v", got)
	}
	if got := topsOf([2]shiftCounts{counts("a"), {}}, [2]shiftCounts{tier, {}}); got.moved {
		t.Errorf("to nowhere: %+v", got)
	}
}

// Every product survives JSON, and nothing in it is NaN or infinite there.
func TestProductsInJSON(t *testing.T) {
	e := analysistest.ThreeFlow()
	e.Samples = map[string]map[uint16]int64{"csig": {1: 3, 7: 2}}
	r := numbers(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Variants[1].CSIG = "compact"
		m.Variants[1].Locators = &runfolder.LocatorTable{Locators: []runfolder.Locator{{Locator: 1, Ports: []string{"s0-s1", "s1-s2"}}}}
	}))
	if len(r.Utilisation) != 3 || len(r.Signatures) != 3 || len(r.Heatmaps) != 1 || len(r.Shifts) == 0 {
		t.Fatalf("%d utilisations, %d signatures, %d heatmaps, %d shifts", len(r.Utilisation), len(r.Signatures), len(r.Heatmaps), len(r.Shifts))
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	back := &Result{}
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(back, r, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("after JSON (-got +want):\n%s", diff)
	}
}

// Damaged tables may hold any number.
func TestHostileWindows(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, math.MaxFloat64}
	p := &portCurve{interval: 100, toUS: 1000, coarseUS: 1000, coarse: make([]float64, 1), binUS: 100, bins: make([]curveBin, 10), close: make([]float64, 4)}
	f := &fold{}
	f.add(1, 0, 1000)
	for _, from := range bad {
		for _, to := range bad {
			f.add(2, from, to)
		}
	}
	f.settle(100)
	s := &signatureReader{fold: f, interval: 100, row: map[PortID]int32{{}: 0}, of: Signature{Rows: make([]SignatureRow, 1)}, busy: [][]float64{make([]float64, f.bins)}, left: [][]float64{make([]float64, f.bins)}}
	sums := windowSums{tier: &tierSums{}}
	for _, start := range bad {
		for _, bytes := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			for _, rate := range []int64{math.MinInt64, 0, 1, math.MaxInt64} {
				row := runfolder.PortRow{StartUS: start, TxBytes: bytes, TxPackets: bytes, RateBPS: rate, QueueByteNS: bytes}
				sums.see(&row, 100)
				p.add(&row)
				s.port(&row)
			}
		}
		f.instance(laneKey{name: "c"}, 1, 0, 1, start, start)
		f.instance(laneKey{name: "c"}, 1, 0, 1, 0, start)
	}
	if len(f.steps) > 2+len(bad)*len(bad) || f.bins > SignatureBins {
		t.Errorf("%d steps, %d bins", len(f.steps), f.bins)
	}
	spans, _ := f.result()
	if _, err := json.Marshal(spans); err != nil {
		t.Error(err)
	}
}
