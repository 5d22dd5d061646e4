package campaign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/capture/capturetest"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/switch/meter"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/units"
)

// uplink is the link that the load of the experiment iperf3 fills, and
// measuredFlow the TCP connection that meets it there.
const (
	uplink       = "tor0-agg0"
	measuredFlow = "h0-h2 app"
)

func needIperf3(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Skip("needs iperf3: ", err)
	}
}

// short is the experiment iperf3 in 9 seconds. The load comes after 3. A busy machine has a second and
// a half to end the first connection to a server before the next.
func short() []string {
	var set []string
	for i, p := range []struct{ run, start string }{
		{}, {}, {},
		{"iperf3 -u -c 10.0.0.3 -p 5202 -b 4M -t 5", "100ms"},
		{"iperf3 -c 10.0.0.3 -p 5201 -C cubic -t 4", "1s"},
		{"iperf3 -u -c 10.0.0.5 -b 15M -t 2", "3s"},
		{"iperf3 -c 10.0.0.3 -p 5201 -C cubic -t 1 -R", "7s"},
	} {
		if p.run != "" {
			set = append(set, fmt.Sprintf("applications.programs.%d.run=%s", i, p.run), fmt.Sprintf("applications.programs.%d.start=%s", i, p.start))
		}
	}
	return append(set, "measure={from: 3300ms, to: 5s}", "expect=[]")
}

// runPrograms runs a set, which must be valid but for its timing: this machine
// may be busy.
func runPrograms(t *testing.T, set *experiment.Set, opts Options) (*runfolder.Folder, *runfolder.Summary) {
	t.Helper()
	opts.Out = filepath.Join(t.TempDir(), "run")
	result, err := Run(context.Background(), set, opts)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := runfolder.Open(opts.Out)
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range f.Manifest.Runs {
		for _, c := range run.Checks {
			switch {
			case c.OK:
			case c.Name == "fidelity":
				t.Logf("fidelity, which is not this test's: %s", c.Detail)
			default:
				t.Errorf("%s: %s", c.Name, c.Detail)
			}
		}
		for _, p := range run.Programs {
			text, err := os.ReadFile(filepath.Join(opts.Out, p.Output))
			if err != nil || t.Failed() {
				t.Errorf("%s %v: %v\n%s", p.Host, p.Args, err, text)
			}
		}
	}
	return f, result.Summary
}

// span is a time of the model in microseconds.
type span struct{ from, to float64 }

func (s span) has(us float64) bool { return us >= s.from && us < s.to }

// under returns when a flow had at least half of a rate.
func under(t *testing.T, f *runfolder.Folder, flow string, rate units.Rate) span {
	t.Helper()
	s := span{math.Inf(1), 0}
	full := float64(rate) / 8 * f.Manifest.IntervalUS / 1e6 // bytes in a window
	for r, err := range f.Flows() {
		if err != nil {
			t.Fatal(err)
		}
		if r.FlowName == flow && float64(r.WireBytes) > full/2 {
			s.from, s.to = min(s.from, r.StartUS), max(s.to, r.StartUS+f.Manifest.IntervalUS)
		}
	}
	return s
}

// named returns which share of a flow's samples of a signal name the uplink, in a
// span, and how many there are.
func named(t *testing.T, set *experiment.Set, f *runfolder.Folder, signal csig.Type, in span) (share float64, samples int64) {
	t.Helper()
	compiled, err := plan.Compile(set.Variants[0].Experiment, 1)
	if err != nil {
		t.Fatal(err)
	}
	names, uplinks := compiled.PortNames(), int64(0)
	for r, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if r.FlowName != measuredFlow || r.Type != signal.String() || !in.has(r.StartUS) {
			continue
		}
		samples += r.Samples
		if names[uint32(r.Locator)] == uplink {
			uplinks += r.Samples
		}
	}
	return float64(uplinks) / float64(max(samples, 1)), samples
}

// checkNaming holds that the tags of the TCP connection name the uplink while it
// is loaded and not before.
func checkNaming(t *testing.T, set *experiment.Set, f *runfolder.Folder, most, least float64) {
	t.Helper()
	load := under(t, f, "h1-h4 app", 15*units.Mbps)
	neighbour, tcp := under(t, f, "h3-h2 app", 4*units.Mbps), under(t, f, measuredFlow, 16*units.Mbps)
	// TCP needs a moment until it fills the last hop's queue.
	before := span{max(neighbour.from, tcp.from+0.5e6), load.from}
	if load.to-load.from < 1e6 || before.to-before.from < 0.5e6 {
		t.Fatalf("the load ran from %v to %v us, the flows before it from %v", load.from, load.to, before.from)
	}
	for _, signal := range []csig.Type{csig.ABW, csig.Delay} {
		early, n := named(t, set, f, signal, before)
		late, m := named(t, set, f, signal, load)
		t.Logf("%v: %.2f %% of %d samples name %s before the load, %.2f %% of %d under it", signal, 100*early, n, uplink, 100*late, m)
		if n < 100 || m < 100 {
			t.Errorf("%v: %d samples before the load, %d under it", signal, n, m)
		}
		if early > most || late < least {
			t.Errorf("%v: %.3f name %s before the load, want at most %v; %.3f under it, want at least %v", signal, early, uplink, most, late, least)
		}
	}
}

// checkBandwidth compares what tags that leave by the uplink say of it with the
// bytes of its packets in the window before, both from the link's capture.
func checkBandwidth(t *testing.T, set *experiment.Set, f *runfolder.Folder) {
	t.Helper()
	e := set.Variants[0].Experiment
	compiled, err := plan.Compile(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	var locator uint32
	for l, name := range compiled.PortNames() {
		if name == uplink {
			locator = l
		}
	}
	type tagged struct {
		window int64
		sample csig.Sample
	}
	// A sliding meter has the last eight parts of the interval that are over.
	const parts = 8
	sub := e.CSIG.Interval / parts
	if e.CSIG.Meter != meter.Sliding || e.CSIG.Phase != meter.Aligned {
		t.Fatalf("the meter is %s and %s", e.CSIG.Meter, e.CSIG.Phase)
	}
	rate := compiled.Graph.Links[0].Rate
	sent := map[int64]float64{} // bytes by part
	var tags []tagged
	domain := compiled.Domain()
	out := fmt.Sprintf("%s:", "tor0")
	readTimes(t, filepath.Join(f.Dir, "run-1.pcapng"), func(port string, at units.Time, frame []byte) {
		var p wire.Packet
		if err := p.Parse(frame, compiled.Format); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(port, out) || p.SourceHost() > 1 {
			return // the other end, or the other direction
		}
		window := int64(at) / int64(sub)
		size := compiled.Format.Sizes.Of(&p)
		// The part of the packet that is on the link when the window ends is the next one's.
		takes := rate.Serialisation(size)
		later := max(0, at.Add(takes).Sub(units.Time((window+1)*int64(sub))))
		next := float64(size) * float64(later) / float64(takes)
		sent[window] += float64(size) - next
		sent[window+1] += next
		if s, ok := domain.Decode(p.Tag()); ok && s.Type == csig.ABW && uint32(s.Locator) == locator {
			tags = append(tags, tagged{window, s})
		}
	})
	capacity := float64(rate) / 8
	step := func(s csig.Sample) float64 { return float64(s.High) - float64(s.Low) + 1 }
	wrong := 0
	for _, tag := range tags {
		var bytes float64
		for w := tag.window - parts; w < tag.window; w++ {
			bytes += sent[w]
		}
		want := max(0, capacity-bytes/e.CSIG.Interval.Seconds())
		if want < float64(tag.sample.Low)-step(tag.sample) || want > float64(tag.sample.High)+step(tag.sample) {
			if wrong++; wrong < 5 {
				t.Errorf("window %d: the tag says %d to %d B/s, the capture %.0f", tag.window, tag.sample.Low, tag.sample.High, want)
			}
		}
	}
	t.Logf("%d tags of %s compared with the bytes of %d parts of windows, %d more than a bucket off", len(tags), uplink, len(sent), wrong)
	if len(tags) < 500 || wrong > 0 {
		t.Errorf("%d of %d tags disagree with the capture", wrong, len(tags))
	}
}

// Issue 3, must show 4, in short: TCP through the fabric in both directions with
// tags on; ABW and delay name the loaded uplink, and not before; the available
// bandwidth agrees with the bytes of a capture.
func TestIperf3(t *testing.T) {
	checkout.SkipLong(t)
	needIperf3(t)
	buildNodes(t)
	set := load(t, "iperf3", append(short(), "capture=["+uplink+"]", "csig.phase=aligned")...)
	f, summary := runPrograms(t, set, Options{})
	if t.Failed() {
		return
	}
	checkNaming(t, set, f, 0.3, 0.5) // what a busy machine, without real-time priority, still shows
	checkBandwidth(t, set, f)
	m := summary.Variants["run"].Metrics
	for _, name := range []string{"rate_gbps.h0-h2 app", "rate_gbps.h2-h0 app"} {
		if m[name] <= 0 {
			t.Errorf("%s is %v", name, m[name])
		}
	}
	reverse, err := os.ReadFile(filepath.Join(f.Dir, "programs", "run-1", "h0-6.txt"))
	if got := goodput(t, string(reverse)); err != nil || got < 10*units.Mbps || got > 20*units.Mbps {
		t.Errorf("%v: the other direction has a goodput of %v, the link 20 Mb/s", err, got)
	}
}

// Packets without a tag reach the programs once, though the kernel of their host
// sees them on the fabric's interface too; UDP has no way of not showing it. IPv6
// works as well.
func TestUntaggedPackets(t *testing.T) {
	needIperf3(t)
	buildNodes(t)
	for _, init := range []string{"1/3", "none"} {
		set := load(t, "iperf3", "csig.init="+init, "applications.hosts=[0, 2]", "measure={from: 0s, to: auto}", "expect=[]",
			`applications.programs=[{host: 2, run: "iperf3 -s", background: true},`+
				`{host: 0, run: "iperf3 -u -c 10.0.0.3 -b 2M -t 1 -J", start: 1s}, {host: 2, run: "iperf3 -s -p 6", background: true},`+
				`{host: 0, run: "iperf3 -6 -u -c fd00:c51c::3 -p 6 -b 2M -t 1 -J", start: 1s}]`)
		f, _ := runPrograms(t, set, Options{})
		for _, name := range []string{"h0-1.txt", "h0-3.txt"} {
			text, err := os.ReadFile(filepath.Join(f.Dir, "programs", "run-1", name))
			if err != nil {
				t.Fatal(err)
			}
			var report struct {
				End struct {
					Streams []struct {
						UDP struct {
							Packets    int `json:"packets"`
							OutOfOrder int `json:"out_of_order"`
						} `json:"udp"`
					} `json:"streams"`
				} `json:"end"`
			}
			if err := json.Unmarshal(text, &report); err != nil || len(report.End.Streams) != 1 {
				t.Fatalf("%v:\n%s", err, text)
			}
			if udp := report.End.Streams[0].UDP; udp.Packets < 100 || udp.OutOfOrder > 0 {
				t.Errorf("init %s: %s: %d of %d packets came out of order, or twice", init, name, udp.OutOfOrder, udp.Packets)
			}
		}
	}
}

// goodput returns the receiver's rate in what an iperf3 client wrote.
func goodput(t *testing.T, text string) units.Rate {
	t.Helper()
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[len(fields)-1] != "receiver" {
			continue
		}
		i := slices.IndexFunc(fields, func(s string) bool { return strings.HasSuffix(s, "bits/sec") })
		var value float64
		if i < 1 {
			break
		}
		if _, err := fmt.Sscan(fields[i-1], &value); err != nil {
			break
		}
		unit := map[string]float64{"bits/sec": 1, "Kbits/sec": 1e3, "Mbits/sec": 1e6, "Gbits/sec": 1e9}[fields[i]]
		return units.Rate(value * unit)
	}
	t.Errorf("iperf3 reports no goodput:\n%s", text)
	return 0
}

// Issue 3, must show 4, in full, on both runtimes.
func TestIperf3InFull(t *testing.T) {
	needQuiet(t)
	needIperf3(t)
	buildNodes(t)
	for _, runtime := range []string{runtimes.Netns, runtimes.Containerlab} {
		t.Run(runtime, func(t *testing.T) {
			if runtime == runtimes.Containerlab {
				containerlabtest.Docker(t)
			}
			set := load(t, "iperf3", "capture=["+uplink+"]", "csig.phase=aligned", "runtime="+runtime)
			f, summary := runPrograms(t, set, Options{})
			checkNaming(t, set, f, 0.05, 0.95)
			checkBandwidth(t, set, f)
			if !summary.Valid {
				t.Errorf("not valid: %q", summary.Reasons)
			}
			for _, e := range summary.Expectations {
				if !e.OK {
					t.Errorf("%s: %v", e.Expr, e.Value)
				}
			}
		})
	}
}

// Tags cost TCP nothing: goodput with them is within 5 % of that without, in both
// directions.
func TestTagsAndGoodput(t *testing.T) {
	needQuiet(t)
	needIperf3(t)
	buildNodes(t)
	set := load(t, "iperf3",
		`applications.programs=[{host: 2, run: "iperf3 -s", background: true},`+
			`{host: 0, run: "iperf3 -c 10.0.0.3 -C cubic -t 8", start: 200ms}, {host: 0, run: "iperf3 -c 10.0.0.3 -C cubic -t 8 -R", start: 9s}]`,
		"applications.hosts=[0, 2]", "measure={from: 0s, to: auto}", "expect=[]")
	tags := map[bool]map[string]units.Rate{}
	for _, on := range []bool{true, false} {
		one := *set
		e := *set.Variants[0].Experiment
		if !on {
			e.CSIG.Format = csig.FormatNone
		}
		one.Variants = []experiment.Resolved{{Name: "run", Experiment: &e}}
		f, summary := runPrograms(t, &one, Options{})
		updated := summary.Variants["run"].Metrics["tags.updated"]
		if on != (updated > 1000) {
			t.Errorf("tags %v: switches updated %v", on, updated)
		}
		tags[on] = map[string]units.Rate{}
		for _, name := range []string{"h0-1.txt", "h0-2.txt"} {
			text, err := os.ReadFile(filepath.Join(f.Dir, "programs", "run-1", name))
			if err != nil {
				t.Fatal(err)
			}
			tags[on][name] = goodput(t, string(text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tags[true])) {
		with, without := tags[true][name], tags[false][name]
		t.Logf("%s: goodput %v with tags, %v without", name, with, without)
		if ratio := float64(with) / float64(without); math.Abs(ratio-1) > 0.05 {
			t.Errorf("%s: goodput with tags is %.3f of that without", name, ratio)
		}
	}
}

// readTimes reads a capture of real frames, without their trailers.
func readTimes(t *testing.T, file string, frame func(port string, at units.Time, b []byte)) {
	t.Helper()
	capturetest.ReadFile(t, file, func(p capturetest.Packet) { frame(p.Port, p.At, p.Data[:len(p.Data)-emu.TrailerLen]) })
}
