package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// longLab sends frames for as long as it is up. Its windows become longer within seconds.
const longLab = `
schema: 1
name: NAME
topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 100Mbps, delay: 1ms}}
generators: [{host: 0, to: 3, every: 5ms}, {host: 1, to: 2, every: 7ms}]
end: 1h
runtime: netns
clock: wall
wall: {dilation: 1, budget: {lateness: 1000, displaced: 1, rate: 1}}
telemetry: {thin: "10ms after 2s, 100ms after 10s", interval: 1ms}
`

// TestLongLab lets a lab's windows grow old: ps says what it takes on disk, the folder says
// until when windows have which length, has no longer ones and no packet less than the lab has
// counted, and the readers of folders read it.
func TestLongLab(t *testing.T) {
	checkout.SkipLong(t)
	u := newTool(t, programsOfAnyUser(t))
	text := regexp.MustCompile("NAME").ReplaceAllString(longLab, named("long"))
	if err := os.WriteFile(filepath.Join(u.dir, "long.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	u.want(command.ExitOK, "up", "long.yaml", "--out", "long")
	time.Sleep(20 * time.Second)
	if list := u.ps(); len(list) != 1 || list[0].DiskBytes < 10_000 || list[0].DiskBytes > list[0].DiskLimit || list[0].DiskLimit != 128e6 {
		t.Errorf("ps: %+v", list)
	}
	if out, _ := u.want(command.ExitOK, "ps"); !regexp.MustCompile(`held +7 +\S+ \S+ +\d+\.\d MB of 128\.0 MB +` + regexp.QuoteMeta(u.dir)).MatchString(out) {
		t.Errorf("ps:\n%s", out)
	}
	start := time.Now()
	u.down(named("long"))
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("down took %v", took)
	}

	f, err := runfolder.Open(filepath.Join(u.dir, "long"))
	if err != nil {
		t.Fatal(err)
	}
	steps := f.Manifest.Runs[0].Thinned
	if len(steps) != 2 || steps[0].IntervalUS != 100_000 || steps[1].IntervalUS != 10_000 || steps[0].UntilUS < 5e6 || steps[1].UntilUS < 15e6 {
		t.Fatalf("thinned: %v", steps)
	}
	sums, rows := map[string]float64{}, map[float64]int{} // us; rows by length
	for r, err := range f.Ports() {
		if err != nil {
			t.Fatal(err)
		}
		want := 1000.0
		for _, s := range steps {
			if r.StartUS < s.UntilUS {
				want = s.IntervalUS
				break
			}
		}
		if r.WindowUS != want {
			t.Fatalf("a window of %v us at %v us, want %v", r.WindowUS, r.StartUS, want)
		}
		sums[r.PortName] += r.BusyUS()
		rows[r.WindowUS]++
	}
	if len(rows) != 3 {
		t.Errorf("windows by length: %v", rows)
	}
	values := map[string]float64{}
	for r, err := range f.Metrics() {
		if err != nil {
			t.Fatal(err)
		}
		values[r.Name] = r.Value
	}
	for port, busy := range sums {
		share := busy / 1e3 / values["model_ms"]
		if want := values["utilisation."+port]; math.Abs(share-want) > 0.01*want && f.Manifest.DroppedRecords == 0 {
			t.Errorf("%s: busy for %v of the time in windows, %v by its metric", port, share, want)
		}
	}
	if len(sums) != 6 || values["model_ms"] < 20_000 {
		t.Errorf("busy ports: %v; %v ms", sums, values["model_ms"])
	}

	if out, _ := u.want(command.ExitOK, "report", "long", "--json"); !json.Valid([]byte(out)) {
		t.Errorf("report --json: %s", out)
	}
	if page, err := os.ReadFile(filepath.Join(u.dir, "long", "report.html")); err != nil || !regexp.MustCompile(`Telemetry windows</td>[^;]*; 10.ms before [^;]*; 100.ms before `).Match(page) {
		t.Errorf("the report does not say how long windows are: %v, %s", err, regexp.MustCompile(`Telemetry windows.{0,300}`).Find(page))
	}
	u.want(command.ExitOK, "export", "long", "--openmetrics", "long.prom")
}
