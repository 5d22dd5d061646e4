package live_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/exposition/endpoint"
	"github.com/csiglab/csiglab/orchestrator/labs/live"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// One process serves h0, one serves two switches, one is dead, one hangs: the first two
// answer at once.
func TestDeadNodesDoNotHoldUpTheOthers(t *testing.T) {
	folder, err := os.MkdirTemp("", "l")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	socket := func(name string) string { return filepath.Join(folder, name) }
	for _, name := range []string{"h0", "switches"} {
		s, err := endpoint.Serve(socket(name), func(to io.Writer, _ exposition.Format) error {
			_, err := io.WriteString(to, "of "+name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
	}
	hangs, err := net.Listen("unix", socket("h2"))
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	run := &runs.Run{ID: "0af3", Nodes: []runs.Node{
		{Name: "h0", Metrics: socket("h0")}, {Name: "h1", Metrics: socket("h1")}, {Name: "h2", Metrics: socket("h2")}, {Name: "h3"},
		{Name: "tor0", Metrics: socket("switches")}, {Name: "tor1", Metrics: socket("switches")},
	}}
	targets, err := live.Targets(run)
	want := []live.Target{
		{Instance: "h0", Nodes: []string{"h0"}, Socket: socket("h0")}, {Instance: "h1", Nodes: []string{"h1"}, Socket: socket("h1")},
		{Instance: "h2", Nodes: []string{"h2"}, Socket: socket("h2")}, {Instance: "tor0", Nodes: []string{"tor0", "tor1"}, Socket: socket("switches")},
	}
	if diff := cmp.Diff(want, targets); diff != "" || err != nil {
		t.Fatalf("targets (-want +got), error %v:\n%s", err, diff)
	}
	r, err := live.NewReader(run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	r.Timeout = 200 * time.Millisecond
	began := time.Now()
	got := r.Read(t.Context())
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("reading took %v", took)
	}
	for i, text := range []string{"of h0", "", "", "of switches"} {
		if string(got[i].Text) != text || (got[i].Err == nil) != (text != "") {
			t.Errorf("%s: %q, error %v, want %q", got[i].Instance, got[i].Text, got[i].Err, text)
		}
	}
	if err := got[1].Err; err == nil || !strings.HasPrefix(err.Error(), "node h1: metrics: ") {
		t.Errorf("of a node that is dead: %v", err)
	}
	if err := got[2].Err; err == nil || err.Error() != "node h2: metrics: has not answered for 200ms" {
		t.Errorf("of a node that hangs: %v", err)
	}
	if text, err := r.Text(t.Context(), "tor0"); string(text) != "of switches" || err != nil {
		t.Errorf("of tor0 alone: %q, error %v", text, err)
	}
	if _, err := r.Text(t.Context(), "tor1"); err == nil {
		t.Error("tor1 has metrics of its own")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if bad := slices.IndexFunc(r.Read(ctx), func(r live.Reading) bool { return r.Err == nil }); bad >= 0 {
		t.Errorf("%s was read after the end", targets[bad].Instance)
	}
}

func TestNoMetrics(t *testing.T) {
	_, err := live.NewReader(&runs.Run{ID: "0af3", Nodes: []runs.Node{{Name: "h0"}}})
	if !errors.Is(err, live.ErrNoMetrics) || !strings.Contains(err.Error(), "run 0af3: ") {
		t.Errorf("error %v, want ErrNoMetrics of the run", err)
	}
}
