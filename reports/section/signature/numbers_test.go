package signature

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
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

// Steps of different lengths are laid over each other from their beginnings; a burst that is
// planted at one time in each step is at this time in the signature, at whatever time of a
// telemetry window a step begins.
func TestSignatureShowsPlantedBursts(t *testing.T) {
	const (
		burstFrom, burstTo = 400, 700 // in the step, in us, at agg0-tor1
		backFrom, backTo   = 800, 900 // at tor0-agg0, at half of the rate, in the longer steps
	)
	begins, ends := []float64{0, 1000, 2000, 3500}, []float64{1000, 1800, 3500, 4700}
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 1, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 5000}
	p.Change = func(m *runfolder.Manifest) {
		m.Jobs = []runfolder.Job{{Name: "train", Ranks: []int32{0, 1, 2, 3}, Steps: 4, Phases: []string{"forward"}, FirstSteps: 4,
			Collectives: []runfolder.Collective{{Name: "dp", Kind: "all_reduce", Ranks: 2}}}}
	}
	us := func(t float64) units.Time { return units.Time(t * float64(units.Microsecond)) }
	p.Run = func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
		burst, back := &m.Ports[readingtest.PortNamed(t, m, "agg0-tor1")], &m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")]
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
	r := read(t, p)
	if len(r.Signatures) != 1 {
		t.Fatalf("%d signatures", len(r.Signatures))
	}
	for i := range r.Signatures[0].Rows { // it is no number of the JSON form
		r.Signatures[0].Rows[i].BusyUS = 0
	}
	sectiontest.Survives(t, r.Signatures)
	s := r.Signatures[0]
	if s.Job != "train" || s.Steps != 4 || s.StepUS != (reading.Spread{Count: 4, Min: 800, Max: 1500}) || s.BinUS != 100 || s.Bins != 15 || !s.AllPorts || len(s.Rows) != 2 || s.Measured {
		t.Fatalf("signature %+v", s)
	}
	if !slices.Equal(s.StepTimesUS, reading.Values{1000, 800, 1500, 1200}) {
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
	active := func(percents ...int8) reading.Percents {
		return append(percents, make(reading.Percents, 15-len(percents))...)
	}
	want := []Span{
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
	if f.bins != 3 || f.steps[0].toUS != 250 || f.spans != (reading.Spread{Count: 2, Min: 240, Max: 250}) {
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
	p := &readingtest.Planted{Many: readingtest.Many{Leaves: 20, Spines: 2, Hosts: 4}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 40_100}
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
	s := read(t, p).Signatures[0]
	if s.AllPorts || len(s.Rows) > MaxRows || s.Bins > MaxBins || s.BinUS != 200 {
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
		if !slices.ContainsFunc(s.Rows, func(r Row) bool { return r.Name == name }) {
			t.Errorf("%s, one of the busiest of its tier, has no row", name)
		}
	}
}

// Damaged tables may hold any number.
func TestHostileWindows(t *testing.T) {
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 1e300, math.MaxFloat64}
	f := &fold{}
	f.add(1, 0, 1000)
	for _, from := range bad {
		for _, to := range bad {
			f.add(2, from, to)
		}
	}
	f.settle(100)
	s := &reader{fold: f, row: map[reading.PortID]int32{{}: 0}, of: Signature{Rows: make([]Row, 1)}, busy: [][]float64{make([]float64, f.bins)}, left: [][]float64{make([]float64, f.bins)}}
	for _, start := range bad {
		for _, bytes := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
			for _, rate := range []int64{math.MinInt64, 0, 1, math.MaxInt64} {
				row := runfolder.PortRow{StartUS: start, WindowUS: 100, TxBytes: bytes, TxPackets: bytes, RateBPS: rate, QueueByteNS: bytes}
				s.port(&row)
			}
		}
		f.instance(laneKey{name: "c"}, 1, 0, 1, start, start)
		f.instance(laneKey{name: "c"}, 1, 0, 1, 0, start)
	}
	if len(f.steps) > 2+len(bad)*len(bad) || f.bins > MaxBins {
		t.Errorf("%d steps, %d bins", len(f.steps), f.bins)
	}
	spans, _ := f.result()
	if _, err := json.Marshal(spans); err != nil {
		t.Error(err)
	}
}
