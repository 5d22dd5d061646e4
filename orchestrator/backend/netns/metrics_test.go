package netns_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/units"
)

// series are the values of series by family, node, port or flow.
type series map[string]float64

// scrape reads all processes of a lab.
func scrape(t *testing.T, r *live.Reader) series {
	t.Helper()
	got := series{}
	for _, reading := range r.Read(context.Background()) {
		if reading.Err != nil {
			t.Error(reading.Err)
			continue
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(reading.Text))
		if err != nil {
			t.Errorf("%s: %v", reading.Instance, err)
		}
		for name, f := range families {
			for _, m := range f.Metric {
				got.add(name, m)
			}
		}
	}
	return got
}

func (s series) add(name string, m *dto.Metric) {
	key := name
	for _, l := range m.Label {
		switch l.GetName() {
		case "node", "port", "flow":
			key += " " + l.GetValue()
		}
	}
	s[key] += m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
}

// The nodes of a run in real time serve metrics, in processes of their own and in the
// driver's: they grow while the run goes on, count the idle time, and agree with what the
// nodes report in the end.
func TestMetrics(t *testing.T) {
	for _, processes := range []backend.Processes{backend.ProcessPerNode, backend.OneProcess, backend.SwitchProcess} {
		t.Run(string(processes), func(t *testing.T) {
			t.Parallel()
			p := backendtest.Compile(t, pairText+"telemetry: {interval: 100us}\n") // a node hands on many shorter windows at a time
			f := newRun(t, p)
			f.Folder, f.Processes, f.Wall = t.TempDir(), processes, &wall.Clock{Dilation: 100}
			f.Series = backend.Series{Variant: "mine", Seed: 7}
			f.Hold = make(chan struct{})
			var first, second series
			var now, again units.Time
			done := make(chan struct{})
			var reader *live.Reader
			f.Ready = func(id string) {
				list, err := runs.List(context.Background(), netns.Backend{})
				if err != nil {
					t.Error(err)
				}
				run, err := runs.Find(list, id)
				if err != nil {
					t.Error(err)
				}
				if reader, err = live.NewReader(&run); err != nil {
					t.Error(err)
				}
				for _, n := range run.Nodes {
					if info, err := os.Lstat(n.Metrics); err != nil || info.Mode() != fs.ModeSocket|0o600 {
						t.Errorf("node %s: socket %s: %v", n.Name, n.Metrics, err)
					}
				}
			}
			out, err := perform(context.Background(), f, func(at units.Time) {
				// The flow takes 5 ms of model time, 0.5 s of wall time. Half a second later its
				// records must have been handed on.
				switch wall := f.Wall.At(at); {
				case first == nil && wall > 400*time.Millisecond:
					first, now = scrape(t, reader), at
				case second == nil && wall > 1200*time.Millisecond:
					second, again = scrape(t, reader), at
					close(f.Hold)
					close(done)
				}
			})
			if errors.Is(err, backend.ErrUnavailable) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			<-done
			reader.Close()
			if first[exposition.PortBytes+" h0 h0-tor0"] <= 0 {
				t.Errorf("at %v nothing was sent:\n%v", now, first)
			}
			for name, v := range first {
				if f := exposition.Of(name); f != nil && f.Type != exposition.Gauge && second[name] < v {
					t.Errorf("%s went from %v to %v", name, v, second[name])
				}
			}
			compareTotals(t, out, second, p.Interval)
			// All windows count, the idle ones too: those up to lag before the scrape.
			const port = exposition.PortWindowUtilisation + " tor0 tor0-agg0"
			elapsed := float64(again) / float64(p.Interval)
			if got := second[port]; got > elapsed+5 || got < elapsed-5-float64(f.Wall.Model(time.Second))/float64(p.Interval) {
				t.Errorf("%s has %v windows at %v, want about %.0f", port, got, again, elapsed)
			}
			if second[exposition.NodeSent+" h0"] == 0 || second[exposition.NodeLateness+" h0"] <= 0 {
				t.Errorf("h0 has sent %v frames and was late by at most %v s", second[exposition.NodeSent+" h0"], second[exposition.NodeLateness+" h0"])
			}
			if second[exposition.RunInfo] != 1 {
				t.Errorf("%v nodes say what is run, want one", second[exposition.RunInfo])
			}
			if left, err := os.ReadDir(f.Folder); len(left) > 0 || err != nil {
				t.Errorf("left in the folder: %v, error %v", left, err)
			}
		})
	}
}

// compareTotals compares counters with the totals of the nodes. A window closes at the next
// packet or at the end of the run, so that the last window of a port is missing.
func compareTotals(t *testing.T, out *ranRun, got series, window units.Duration) {
	t.Helper()
	for node, name := range []string{"h0", "h1"} {
		port := " " + name + " " + name + "-tor" + name[1:]
		sent := out.Nodes[node].Ports[0]
		inWindow := 1e9 / 8 * window.Seconds()
		if bytes := got[exposition.PortBytes+port]; bytes > float64(sent.TxBytes) || bytes < float64(sent.TxBytes)-2*inWindow || bytes == 0 {
			t.Errorf("%s: %v bytes live, %d in the end, want at most a window of %v B less", name, bytes, sent.TxBytes, inWindow)
		}
	}
	received := out.Nodes[1].Receivers[0]
	if bytes := got[exposition.FlowBytes+" 0-1"]; bytes > float64(received.PayloadBytes) || bytes < float64(received.PayloadBytes)-2*1e9/8*window.Seconds() {
		t.Errorf("the flow: %v bytes live, %d in the end", bytes, received.PayloadBytes)
	}
	if acks := got[exposition.FlowAcks+" 0-1"]; acks == 0 || acks > float64(out.Nodes[0].Senders[0].AcksReceived) {
		t.Errorf("the flow: %v ACKs live, %d in the end", acks, out.Nodes[0].Senders[0].AcksReceived)
	}
}

// A node's socket that cannot be made does not end the run.
func TestMetricsWithoutRoom(t *testing.T) {
	t.Parallel()
	f := newRun(t, backendtest.Compile(t, pairText))
	f.Folder, f.Wall = t.TempDir(), &wall.Clock{Dilation: 100}
	if err := os.WriteFile(runs.MetricsFolder(f.Folder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run(t, f)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Drained {
		t.Error("the run was not over")
	}
	if _, err := os.Lstat(runs.MetricsFolder(f.Folder)); err != nil {
		t.Errorf("the file in the way was removed: %v", err)
	}
}
