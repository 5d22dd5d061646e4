package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/dashboards"
	"github.com/csiglab/csiglab/dashboards/grafana"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// panelsText is a run with all that panels show: a job beside transfers, each signal of
// CSIG, and ports that trim.
const panelsText = `schema: 1
name: NAME
description: A step of a small GPT beside transfers, with each signal of CSIG
topology:
  rail: {servers: 4, nics: 2, group: 2, spines: 1, rate: 10Gbps, delay: 2us}
workload:
  transfers: [0 -> 6 1MB, 1 -> 7 1MB]
jobs:
  - name: gpt
    placement: spread
    model: {preset: gpt-tiny, parallel: {tp: 2, pp: 2}, forward: 10us, bucket: 64KiB}
csig: {format: wide}
hosts: {cc: {name: nscc, csig: max-delay}}
wall: {dilation: 1000, budget: {lateness: 1000, displaced: 1, rate: 1}}
variants:
  delay: {}
  hpcc: {hosts.cc: {name: csig-hpcc}}
  abw: {hosts.cc: {name: nscc}, csig.signal: abw}
`

// What the description of a panel says of the runs that cannot have what it shows.
const (
	emptyVirtual   = "Empty for a run that is not in real time."
	emptyFault     = "Empty for a run that has no faults."
	emptyLab       = "Empty for a run that is a lab "
	emptyDelay     = "Empty for a run that does not ask for the CSIG signal delay."
	emptyBandwidth = "Empty for a run that does not ask for the CSIG signal abw."
)

// TestPanels evaluates each panel of each dashboard over csiglab serve, as Grafana does:
// for a run in virtual time, one with real frames under clock lockstep, and a lab that is
// up. Each query must return values in the time of the run. Only a panel whose description
// says that such a run cannot have what it shows is empty, and it is.
func TestPanels(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	ownList(t)
	u := newTool(t, builtPrograms(t))
	if err := os.WriteFile(filepath.Join(u.dir, "panels.yaml"), []byte(strings.Replace(panelsText, "NAME", named("panels"), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("virtual", func(t *testing.T) {
		u := u.of(t)
		u.want(command.ExitOK, "run", "panels.yaml", "--out", "virtual")
		u.panels(emptyVirtual, emptyFault)(u.loaded("virtual"))
	})
	t.Run("lockstep", func(t *testing.T) {
		u := u.of(t)
		u.want(command.ExitOK, "run", "panels.yaml", "--runtime", "netns", "--clock", "lockstep", "--out", "lockstep")
		u.panels(emptyVirtual, emptyFault)(u.loaded("lockstep"))
	})
	// A lab is of one variant, with one signal or two.
	t.Run("lab", func(t *testing.T) {
		u := u.of(t)
		began := time.Now()
		stdout, _ := u.want(command.ExitOK, "up", "panels.yaml", "--runtime", "netns", "--clock", "wall", "--variant", "hpcc", "--out", "lab", "--json")
		lab := u.parse(stdout)
		server := u.dataSource(lab.ID)
		time.Sleep(4 * time.Second) // a scrape each second
		u.panels(emptyLab, emptyDelay, emptyBandwidth)(server, lab.ID, began.Add(-time.Second), time.Now())
		u.down(lab.ID)
	})
}

// of is the tool in a subtest.
func (u *tool) of(t *testing.T) *tool {
	sub := *u
	sub.T = t
	return &sub
}

// dataSource serves a run folder or a lab.
func (u *tool) dataSource(what string) prometheusServer {
	u.Helper()
	// On a machine that tests load a query may take longer than a server allows by itself.
	return prometheusServer{URL: u.serve(what, "--query-time", "2m").base}
}

// loaded serves a run folder, and returns what the dashboards are to show: the run and the
// time that csiglab grafana push gives them.
func (u *tool) loaded(folder string) (server prometheusServer, run string, from, to time.Time) {
	u.Helper()
	from, to = u.timeOf(folder)
	return u.dataSource(folder), folder, from, to
}

// timeOf returns the time of a run folder on the axis of dashboards.
func (u *tool) timeOf(folder string) (from, to time.Time) {
	u.Helper()
	f, err := runfolder.Open(filepath.Join(u.dir, folder))
	if err != nil {
		u.Fatal(err)
	}
	shown, err := grafana.ReadRun(f, folder, 0)
	if err != nil {
		u.Fatal(err)
	}
	return shown.From.Add(-time.Second), shown.To.Add(time.Second)
}

// panels returns a check of all dashboards, for a run for which the reasons hold.
func (u *tool) panels(reasons ...string) func(server prometheusServer, run string, from, to time.Time) {
	return func(server prometheusServer, run string, from, to time.Time) {
		u.Helper()
		for _, d := range dashboards.All() {
			set := panelVariables{"datasource": "csiglab", "run": run, "other_run": run}
			results, err := evaluatePanels(server, d.JSON, set, from, to)
			if err != nil {
				u.Errorf("%s: %v", d.UID, err)
				continue
			}
			for _, r := range results {
				excused := slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(r.Description, reason) })
				text, err := json.Marshal(r.Rows)
				if err != nil {
					u.Fatal(err)
				}
				switch {
				case r.Empty() && !excused:
					u.Errorf("%s: panel %q is empty: %s", d.UID, r.Title, text)
				case !r.Empty() && excused:
					u.Errorf("%s: panel %q has %s; its description says that it is empty for such a run", d.UID, r.Title, text)
				case r.Kind == "table" && !excused && (len(r.Table) == 0 || len(r.Missing) > 0 && !slices.Equal(r.Missing, []string{"flow"})): // which a run with many flows lacks
					u.Errorf("%s: table %q has %d rows with the columns %q, and lacks %q", d.UID, r.Title, len(r.Table), r.Columns, r.Missing)
				}
			}
		}
	}
}
