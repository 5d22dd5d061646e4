package cli

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/dashboards"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment"
)

// truths are panels whose values are a metric of the run in summary.json: of a table one of its
// queries, of other panels the queries with a word in their legends.
var truths = []struct {
	board, panel, query string
	metric              string // SUBJECT stands for the rest of the labels beside the variant
	scale               float64
	shown               bool // it is of the time that is shown, and not of the whole run
}{
	{"csiglab-flows", "Completion times, whole run", "A", "fct_us.p50", 1e-6, false},
	{"csiglab-flows", "Completion times, whole run", "B", "fct_us.p99", 1e-6, false},
	{"csiglab-flows", "Completion times, whole run", "C", "fct_us.max", 1e-6, false},
	{"csiglab-flows", "Completion times, whole run", "D", "slowdown.mean", 1, false},
	{"csiglab-flows", "Completion times, whole run", "E", "slowdown.p99", 1, false},
	{"csiglab-flows", "Packets sent again, whole run", "A", "packets.retransmitted", 1, false},
	{"csiglab-flows", "Packets sent again, whole run", "B", "packets.timeouts", 1, false},
	{"csiglab-fabric", "Variants", "H", "drops", 1, false},
	{"csiglab-training", "Steps, whole run", "A", "iteration_us.p50.SUBJECT", 1e-6, false},
	{"csiglab-training", "Collectives, time shown", "B", "cct_us.mean.SUBJECT", 1e-6, true},
	{"csiglab-training", "Collectives, time shown", "C", "cct_us.p99.SUBJECT", 1e-6, false},
	{"csiglab-training", "Collectives, whole run", "B", "cct_us.p99.SUBJECT", 1e-6, false},
	{"csiglab-training", "Collectives, whole run", "C", "cct_us.max.SUBJECT", 1e-6, false},
}

// TestPanelsTellTheTruth compares what panels show with summary.json, of all experiments, and
// what they show of two parts of a run with what they show of the whole one.
func TestPanelsTellTheTruth(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	names := []string{"three-flow", "te-loop"}
	if os.Getenv("CSIGLAB_E2E") != "" {
		names = slices.DeleteFunc(experiment.Names(), func(name string) bool {
			return name == "iperf3" // runs another program in real time
		})
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			u := newTool(t, builtPrograms(t))
			// What several seeds are expected to do on average, one need not.
			if code, _, stderr := u.run("", "run", name, "--seeds", "1", "--no-report", "--out", "run"); code != command.ExitOK && code != command.ExitFailed {
				t.Fatalf("csiglab run %s: exit %d: %s", name, code, stderr)
			}
			f, err := runfolder.Open(filepath.Join(u.dir, "run"))
			if err != nil {
				t.Fatal(err)
			}
			server, run, from, to := u.loaded("run")
			u.compareWith(&f.Summary, u.evaluated(server, run, from, to), true)
			middle := from.Add(to.Sub(from) / 2).Truncate(time.Second)
			u.addUp(u.evaluated(server, run, from, middle), u.evaluated(server, run, middle, to), u.evaluated(server, run, from, to))
			// Grafana shows as little as 50 us of the model, 50 ms of its axis.
			// What is of the whole run is the same there.
			for _, width := range []time.Duration{50 * time.Millisecond, 50 * time.Second} {
				u.compareWith(&f.Summary, u.evaluated(server, run, middle, middle.Add(width)), false)
			}
		})
	}
}

// evaluated returns the panels of all dashboards by board and title.
func (u *tool) evaluated(server prometheusServer, run string, from, to time.Time) map[string]panelResult {
	u.Helper()
	all := map[string]panelResult{}
	for _, d := range dashboards.All() {
		results, err := evaluatePanels(server, d.JSON, panelVariables{"datasource": "csiglab", "run": run, "other_run": run}, from, to)
		if err != nil {
			u.Fatalf("%s: %v", d.UID, err)
		}
		for _, r := range results {
			all[d.UID+" "+r.Title] = r
		}
	}
	return all
}

// compareWith compares panels with the metrics of a run, all of which is shown or only a part.
func (u *tool) compareWith(summary *runfolder.Summary, panels map[string]panelResult, all bool) {
	u.Helper()
	compared := 0
	for _, want := range truths {
		if want.shown && !all {
			continue
		}
		panel, ok := panels[want.board+" "+want.panel]
		if !ok {
			u.Fatalf("no panel %s %s", want.board, want.panel)
		}
		for key, got := range panel.Last[want.query] {
			for name, v := range summary.Variants {
				subject, ok := strings.CutPrefix(" "+key+" ", " "+name+" ")
				if !ok {
					// Labels are in the order of their names: a subject comes before the variant.
					if subject, ok = strings.CutSuffix(" "+key+" ", " "+name+" "); !ok {
						continue
					}
				}
				metric := strings.Replace(want.metric, "SUBJECT", strings.TrimSpace(subject), 1)
				truth, known := v.Runs[0].Metrics[metric]
				if !known || len(strings.TrimSpace(subject)) > 0 && !strings.Contains(want.metric, "SUBJECT") {
					continue
				}
				compared++
				if math.Abs(got-truth*want.scale) > 1e-6*math.Abs(truth*want.scale) {
					u.Errorf("%s: %s shows %v, and summary.json has %s = %v", name, want.panel, got, metric, truth)
				}
			}
		}
	}
	if compared < 2 {
		u.Errorf("%d values were compared", compared)
	}
}

// totals are tables of what was counted in the time that is shown.
var totals = map[string][]string{
	"csiglab-fabric Ports, time shown":                 {"A", "C", "D", "E"},
	"csiglab-flows Flows, time shown":                  {"A", "B"},
	"csiglab-flows Packets sent again, time shown":     {"A", "B"},
	"csiglab-training Collectives, time shown":         {"A"},
	"csiglab-paths Packets trimmed or dropped by port": {"A"},
}

// addUp checks that totals of two halves add up to that of the whole.
func (u *tool) addUp(first, second, whole map[string]panelResult) {
	u.Helper()
	for panel, queries := range totals {
		for _, q := range queries {
			for key, want := range whole[panel].Last[q] {
				if strings.HasPrefix(panel, "csiglab-paths") && len(whole[panel].Last[q]) == 10 {
					continue // the ten greatest of each half may be others
				}
				if got := first[panel].Last[q][key] + second[panel].Last[q][key]; math.Abs(got-want) > 1e-9*want {
					u.Errorf("%s, query %s of %s: %v in two halves, %v in the whole", panel, q, key, got, want)
				}
			}
		}
	}
	if len(whole["csiglab-fabric Ports, time shown"].Last["A"]) == 0 {
		u.Error("no port has sent anything")
	}
}
