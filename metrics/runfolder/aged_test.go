package runfolder

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/units"
)

const thinSecond = units.Time(units.Second)

// agedRecords are the records of three ports and two flows for some seconds: bursts, gaps, a
// port that is quiet for most of the time and whose windows so come late.
func agedRecords(seconds int, seed uint64) (batches []*metrics.Batch) {
	random := rand.New(rand.NewPCG(seed, 1))
	quiet := metrics.PortWindow{Node: 1, Port: 3, TxPackets: 1, TxBytes: 5, ABW: metrics.Absent}
	for second := range seconds {
		port, flow := &metrics.Batch{Node: 1}, &metrics.Batch{Node: 0}
		for _, at := range slices.Sorted(func(yield func(int) bool) {
			seen := map[int]bool{}
			for range 1 + random.IntN(40) {
				if k := random.IntN(10_000); !seen[k] {
					seen[k] = true
					if !yield(k) {
						return
					}
				}
			}
		}) {
			start := units.Time(second)*thinSecond + units.Time(at)*units.Time(100*units.Microsecond)
			w := metrics.PortWindow{Node: 1, Port: 2, Start: start, TxPackets: 2, TxBytes: int64(random.IntN(9000)), Marked: 1, Trimmed: 2, Dropped: 3,
				QueueMax: int64(random.IntN(1e6)), QueueByteNS: int64(random.IntN(1e6)), Busy: units.Duration(random.IntN(1e8)), ABW: int64(random.IntN(1e9))}
			if random.IntN(5) == 0 {
				w.ABW = metrics.Absent
			}
			port.Emit(&w)
			w.Port, w.TxBytes = 0, 7
			port.Emit(&w)
			flow.Emit(&metrics.FlowWindow{Flow: 0, Start: start, Packets: 1, WireBytes: 10, PayloadBytes: 9})
			flow.Emit(&metrics.CCWindow{Flow: 0, Start: start, Acks: 3, Delay: 5, Actions: []metrics.Count{{Name: "grow", Packets: 2}, {Name: "cut", Packets: 1}}, Cwnd: int64(at)})
			high := int64(4)
			if random.IntN(50) == 0 {
				high = metrics.Absent
			}
			flow.Emit(&metrics.SignalWindow{Flow: 0, Type: 2, Locator: uint32(random.IntN(2)), Start: start, Samples: 1, PointSum: 3, PointMax: int64(at), PointMin: int64(at), LowSum: 2, HighSum: high})
			flow.Emit(&metrics.Event{Flow: 0, Kind: metrics.EventSend, At: start + 1, Packet: int64(at)})
		}
		if second%7 == 0 { // closed seven seconds late
			if second > 0 {
				port.Emit(&quiet)
			}
			quiet.Start = units.Time(second) * thinSecond
		}
		batches = append(batches, port, flow)
	}
	return batches
}

// Old windows become longer, and nothing is counted twice or lost: the rows are the records
// merged to the lengths that the run says, whatever comes late and whichever limit acts.
func TestAged(t *testing.T) {
	seeds := uint64(3)
	if checkout.SlowRace(t) {
		seeds = 1
	}
	steps := []thinning.Step{{Interval: 10 * units.Millisecond, After: 10 * units.Second}, {Interval: units.Second, After: 60 * units.Second}}
	for _, c := range []struct {
		name     string
		thinning Thinning
		want     []float64 // first lengths in us, from the beginning of the run
	}{
		{"by age", Thinning{Steps: steps}, []float64{1e6, 1e4}},
		{"by age and room", Thinning{Steps: steps, Bytes: 150_000}, []float64{1e6, 1e4}},
		{"little room", Thinning{Steps: steps, Bytes: 12_000}, []float64{0, 1e6}},
		{"room alone", Thinning{Bytes: 20_000}, []float64{0}},
	} {
		for seed := range seeds {
			t.Run(fmt.Sprintf("%s, seed %d", c.name, seed), func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "r")
				w := must(Create(dir, manifest()))(t)
				run := must(w.BeginRun("base", 1, nil))(t)
				reads := []int64{}
				run.Thin(c.thinning, func(read, all int64) { reads = append(reads, read, all) })
				batches := agedRecords(300, seed)
				most := int64(0)
				for _, b := range batches {
					run.Consume(b)
					size := int64(0)
					for _, tier := range run.aged.tiers {
						for _, s := range tier.segments {
							size += s.part.size
						}
					}
					most = max(most, size)
				}
				if limit := c.thinning.Bytes; limit > 0 && most > limit+limit/4+3*2*partBlock {
					t.Errorf("%d bytes on disk, the limit is %d", most, limit)
				}
				if err := run.End(RunData{}); err != nil {
					t.Fatal(err)
				}
				left := must(fs.Glob(os.DirFS(dir), "parts/*"))(t)
				if len(left) != 1 || !strings.HasSuffix(left[0], runSuffix) {
					t.Errorf("left: %v", left)
				}
				if c.thinning.Bytes == 0 && (len(reads) < 4 || reads[0] >= reads[1] || reads[len(reads)-1] != reads[1]) {
					t.Errorf("read so many of so many records: %v", reads)
				}
				if err := w.Finish(summary()); err != nil {
					t.Fatal(err)
				}
				f := must(Open(dir))(t)
				thinned := f.Manifest.Runs[0].Thinned
				var lengths []float64
				until := 0.0
				for _, step := range thinned {
					if lengths = append(lengths, step.IntervalUS); step.UntilUS <= until {
						t.Errorf("thinned: %v", thinned)
					}
					until = step.UntilUS
				}
				if len(lengths) < len(c.want) || !slices.Equal(lengths[:len(c.want)], c.want) {
					t.Errorf("lengths %v until %v, want %v", lengths, thinned, c.want)
				}
				compareAged(t, f, batches)
			})
		}
	}
}

// compareAged compares the rows of a folder with the records, merged as the run says.
func compareAged(t *testing.T, f *Folder, batches []*metrics.Batch) {
	t.Helper()
	thinned := f.Manifest.Runs[0].Thinned
	length := func(at units.Time) (units.Time, float64) {
		us := units.Duration(at).Microseconds()
		for _, step := range thinned {
			if us < step.UntilUS {
				if step.IntervalUS == 0 {
					return -1, 0
				}
				unit := units.Time(step.IntervalUS) * units.Time(units.Microsecond)
				return at - at%unit, step.IntervalUS
			}
		}
		return at, 100
	}
	type key struct {
		what string
		at   float64
	}
	want, got := map[key][]int64{}, map[key][]int64{}
	add := func(to map[key][]int64, k key, sums []int64, most ...int64) {
		v := to[k]
		if v == nil {
			to[k] = append(slices.Clone(sums), most...)
			return
		}
		for i := range sums {
			v[i] += sums[i]
		}
		for i := range most {
			v[len(sums)+i] = max(v[len(sums)+i], most[i])
		}
	}
	none := int64(-1 << 62)
	least := func(v int64) int64 {
		if v == metrics.Absent {
			return none
		}
		return -v
	}
	events := 0
	for _, b := range batches {
		for _, p := range b.Ports {
			if at, us := length(p.Start); us > 0 {
				add(want, key{fmt.Sprint("port ", p.Port, us), units.Duration(at).Microseconds()}, []int64{p.TxPackets, p.TxBytes, p.Marked, p.Trimmed, p.Dropped, p.QueueByteNS, int64(p.Busy)}, p.QueueMax, least(p.ABW))
			}
		}
		for _, p := range b.Flows {
			if at, us := length(p.Start); us > 0 {
				add(want, key{fmt.Sprint("flow", us), units.Duration(at).Microseconds()}, []int64{p.Packets, p.WireBytes, p.PayloadBytes})
			}
		}
		for _, p := range b.CC {
			if at, us := length(p.Start); us > 0 {
				add(want, key{fmt.Sprint("cc", us), units.Duration(at).Microseconds()}, []int64{p.Acks, 2, 1}, p.Cwnd)
			}
		}
		for _, p := range b.Signals {
			if at, us := length(p.Start); us > 0 {
				unknown := int64(0)
				if p.HighSum == metrics.Absent {
					unknown = 1
				}
				add(want, key{fmt.Sprint("signal", p.Locator, us), units.Duration(at).Microseconds()}, []int64{p.Samples, p.PointSum, p.LowSum}, p.PointMax, -p.PointMin, unknown)
			}
		}
		for _, e := range b.Events {
			if len(thinned) == 0 || units.Duration(e.At).Microseconds() >= thinned[len(thinned)-1].UntilUS {
				events++
			}
		}
	}
	for _, p := range must(collect(f.Ports()))(t) {
		abw := none
		if p.ABWBPS != nil {
			abw = -*p.ABWBPS / 8
		}
		add(got, key{fmt.Sprint("port ", p.Port, p.WindowUS), p.StartUS}, []int64{p.TxPackets, p.TxBytes, p.Marked, p.Trimmed, p.Dropped, p.QueueByteNS, *p.BusyPS}, p.QueueMax, abw)
	}
	for _, p := range must(collect(f.Flows()))(t) {
		add(got, key{fmt.Sprint("flow", p.WindowUS), p.StartUS}, []int64{p.Packets, p.WireBytes, p.PayloadBytes})
	}
	for _, p := range must(collect(f.CC()))(t) {
		add(got, key{fmt.Sprint("cc", p.WindowUS), p.StartUS}, []int64{p.Acks, p.Actions["grow"], p.Actions["cut"]}, p.Cwnd)
	}
	for _, p := range must(collect(f.Signals()))(t) {
		unknown := int64(0)
		if p.HighSum == nil {
			unknown = 1
		}
		add(got, key{fmt.Sprint("signal", p.Locator, p.WindowUS), p.StartUS}, []int64{p.Samples, p.PointSum, *p.LowSum}, p.PointMax, -p.PointMin, unknown)
	}
	if n := len(must(collect(f.Events()))(t)); n != events {
		t.Errorf("%d events, want %d", n, events)
	}
	// A window has the last state, not the greatest.
	for _, m := range []map[key][]int64{got, want} {
		for k, v := range m {
			if strings.HasPrefix(k.what, "cc") {
				m[k] = v[:3]
			}
		}
	}
	wrong := 0
	for k := range maps.Keys(want) {
		if !slices.Equal(want[k], got[k]) {
			if wrong++; wrong < 5 {
				t.Errorf("%v: got %v, want %v", k, got[k], want[k])
			}
		}
	}
	for k := range maps.Keys(got) {
		if want[k] == nil {
			if wrong++; wrong < 5 {
				t.Errorf("%v: got %v, which is in no record", k, got[k])
			}
		}
	}
	if wrong > 0 || len(want) == 0 {
		t.Errorf("%d of %d windows are wrong; thinned %v", wrong, len(want), thinned)
	}
}

// A run that is given up leaves no file.
func TestAgedDiscard(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r")
	w := must(Create(dir, manifest()))(t)
	run := must(w.BeginRun("base", 1, nil))(t)
	run.Thin(Thinning{Steps: []thinning.Step{{Interval: 10 * units.Millisecond, After: units.Second}}}, nil)
	for _, b := range agedRecords(10, 1) {
		run.Consume(b)
	}
	if left := must(fs.Glob(os.DirFS(dir), "parts/*"))(t); len(left) < 3 {
		t.Errorf("files while the run goes on: %v", left)
	}
	run.Discard()
	if left := must(fs.Glob(os.DirFS(dir), "parts/*"))(t); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if err := w.Abort("test"); err != nil {
		t.Fatal(err)
	}
}
