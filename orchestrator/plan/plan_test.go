package plan_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/backend/inproc"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
)

// throughGob returns what another process reads of a plan.
func throughGob(t *testing.T, p *plan.Plan) *plan.Plan {
	t.Helper()
	var wire bytes.Buffer
	if err := gob.NewEncoder(&wire).Encode(p); err != nil {
		t.Fatal(err)
	}
	decoded := new(plan.Plan)
	if err := gob.NewDecoder(&wire).Decode(decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

// whole has cmp compare all fields, and lists without elements as equal: gob leaves
// these out.
var whole = cmp.Options{cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })}

// run runs a plan in virtual time and returns its trace hash and its metrics.
func run(t *testing.T, p *plan.Plan) ([32]byte, map[string]float64) {
	t.Helper()
	records := measure.NewRecords(p, nil)
	out, err := inproc.Backend{}.Run(t.Context(), &backend.Run{Plan: p}, backend.Control{Records: records})
	if err != nil {
		t.Fatal(err)
	}
	nodes := records.Nodes()
	if !someEvents(nodes) {
		t.Fatal("no node has had an event")
	}
	values := measure.Metrics(p, out, records)
	delete(values, "cpu_seconds")
	return measure.TraceHash(nodes), values
}

func someEvents(nodes []metrics.NodeTotals) bool {
	for _, n := range nodes {
		if n.Events > 0 {
			return true
		}
	}
	return false
}

// A plan that was sent to another process is the same, and its run too: it has the
// events and the metrics of the original.
func TestPlanSurvivesGob(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, c := range []struct {
		name    string
		variant int
		csig    bool
	}{
		{"incast", 0, false},
		{"three-flow", 1, true},
		{"dragonfly", 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			original := backendtest.Embedded(t, c.name, c.variant)
			if (original.CSIG != nil) != c.csig || original.Transfers == 0 {
				t.Fatalf("CSIG %v, %d transfers; want CSIG %v and transfers", original.CSIG != nil, original.Transfers, c.csig)
			}
			decoded := throughGob(t, original)
			if diff := cmp.Diff(decoded, original, whole); diff != "" {
				t.Fatalf("decoded - original +:\n%s", diff)
			}
			want, wantValues := run(t, original)
			got, values := run(t, decoded)
			if got != want {
				t.Errorf("trace hash of the decoded plan: got %x, want %x", got[:8], want[:8])
			}
			if diff := cmp.Diff(values, wantValues); diff != "" {
				t.Errorf("metrics of the decoded plan, got - want +:\n%s", diff)
			}
		})
	}
}

// A plan depends on the experiment and the seed alone.
func TestCompileRepeats(t *testing.T) {
	if diff := cmp.Diff(backendtest.Embedded(t, "incast", 0), backendtest.Embedded(t, "incast", 0), whole); diff != "" {
		t.Errorf("two plans of the same experiment and seed:\n%s", diff)
	}
}

// Parameters that only the algorithm itself can judge are refused before a run.
func TestCompileRefusesParameters(t *testing.T) {
	for path, edit := range map[string]func(*experiment.Experiment){
		"hosts.cc":  func(e *experiment.Experiment) { e.Hosts.CC.Params["gamma"] = "2" },
		"hosts.lb":  func(e *experiment.Experiment) { e.Hosts.LB.Params["paths"] = "3" },
		"links.aqm": func(e *experiment.Experiment) { e.Links.AQM.Params["low"] = "1" },
	} {
		set, err := experiment.Load("three-flow", experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		e := set.Variants[0].Experiment
		edit(e)
		_, err = plan.Compile(e, 1)
		var at *experiment.PathError
		if !errors.Is(err, failure.ErrConfiguration) || !errors.As(err, &at) || !strings.HasPrefix(at.Path, path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
