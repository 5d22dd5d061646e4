package reports_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
	"github.com/csiglab/csiglab/reports/section/control"
	"github.com/csiglab/csiglab/reports/section/queues"
	"github.com/csiglab/csiglab/reports/section/rates"
	"github.com/csiglab/csiglab/reports/series"
	"github.com/csiglab/csiglab/units"
)

// of returns a section of a report.
func of[S any](t *testing.T, s S, ok bool) S {
	t.Helper()
	if !ok {
		t.Fatalf("the report has no %T", s)
	}
	return s
}

// Whatever a run is of, its story has at most five short sentences; what is not known has none.
func TestStories(t *testing.T) {
	open, invalid := readingtest.ThreeFlow(), readingtest.ThreeFlow()
	open.Open = true
	one := &readingtest.Planted{Many: readingtest.Many{Leaves: 2, Spines: 2, Hosts: 2}, Interval: 100 * units.Microsecond, Variants: []string{"run"}, EndUS: 10_000,
		Run: func(*runfolder.Manifest, string, uint64, *metrics.Batch) {}}
	incomplete := readingtest.ThreeFlow().Folder(t, nil)
	incomplete.Manifest.DroppedRecords = 1234
	faulty := &readingtest.Planted{Many: one.Many, Interval: one.Interval, Variants: []string{"run"}, EndUS: 10_000,
		Run: func(m *runfolder.Manifest, _ string, _ uint64, b *metrics.Batch) {
			for i := range 100 {
				b.Ports = append(b.Ports, one.Window(&m.Ports[readingtest.PortNamed(t, m, "tor0-agg0")], float64(i)*100, 1, 1000))
			}
		}}
	for range 2 {
		faulty.Faults = append(faulty.Faults, runfolder.Fault{What: "a link down", Happened: true})
	}
	faulty.Faults = append(faulty.Faults, runfolder.Fault{What: "never"})
	for name, c := range map[string]struct {
		f     *runfolder.Folder
		least int
		want  string // in one of the sentences
	}{
		"three flows":      {readingtest.ThreeFlow().Folder(t, nil), 5, "The price: the mean queue of s1 → s2 rises"},
		"unfinished":       {open.Folder(t, nil), 3, "All 9 runs are valid"},
		"invalid":          {invalid.Folder(t, func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Valid, s.Reasons = false, []string{"late timers"} }), 3, "Do not rely on these figures: the run is not valid;"},
		"many":             {(&readingtest.Many{Leaves: 8, Spines: 16, Hosts: 5, Samples: true}).Folder(t), 3, "The run is valid; with one seed, how much of this is chance is not known."},
		"dropped":          {incomplete, 3, "1234 records found no room and the charts lack them"},
		"faulty":           {faulty.Folder(t), 2, "; fault: a link down."},
		"nothing happened": {one.Folder(t), 0, ""},
	} {
		r := read(t, c.f)
		story := r.Story()
		if len(story) > 5 || len(story) < c.least {
			t.Errorf("%s: %d sentences: %q", name, len(story), story)
		}
		for _, s := range story {
			if !strings.HasSuffix(s, ".") || strings.ToUpper(s[:1]) != s[:1] || len(s) > 450 || strings.Contains(s, "NaN") || strings.Contains(s, "never") {
				t.Errorf("%s: %q is no short sentence", name, s)
			}
		}
		if !strings.Contains(strings.Join(story, "\n"), c.want) {
			t.Errorf("%s: %q lacks %q", name, story, c.want)
		}
	}
}

// The picture of the fabric is of the variant that the sentences on places are of.
func TestSentencesAndPictureAreOfOneVariant(t *testing.T) {
	e := sampled()
	r := read(t, e.Folder(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Variants[1].CSIG = "compact" }))
	d := r.Document()
	if r.Told == "" || d.First[0].Figure.ID != "fabric" || !strings.HasSuffix(d.First[0].Title, " in "+r.Told) {
		t.Errorf("the sentences are of %q, the picture is %q", r.Told, d.First[0].Title)
	}
}

// Ports of hosts are named as NICs, wherever ports are named.
func TestNICsAreNamed(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Utilise, e.NIC = 0.5, readingtest.NIC{Utilise: 0.99, QueueBytes: 50_000, Dropped: 2}
	r := read(t, e.Folder(t, nil))
	text := strings.Join(r.Findings(), "\n")
	for _, f := range r.Figures() {
		if f.ID == "queues" {
			text += "\n" + f.Panels[0].Title
		}
	}
	for _, want := range []string{"The bottleneck is the NIC of h0 (99 % busy; mean queue 50\u00a0kB in baseline", "The NIC of h0 limits 0-3 and 0-1.", "dropped or trimmed: the NIC of h0 drops 640 in each variant.", "\nthe NIC of h0"} {
		if !strings.Contains(text, want) {
			t.Errorf("findings lack %q:\n%s", want, text)
		}
	}
}

// The JSON form holds all numbers of charts, and gaps as null.
func TestJSON(t *testing.T) {
	r := read(t, sampled().Folder(t, nil))
	text := formsOf(t, r).json
	var back struct{ Charts []series.Chart }
	if err := json.Unmarshal([]byte(text), &back); err != nil || strings.Count(text, "\n") != 1 {
		t.Fatalf("%v, %d lines", err, strings.Count(text, "\n"))
	}
	ofRates, ok := reports.Of[*rates.Section](r)
	all := of(t, ofRates, ok).Charts
	ofQueues, ok := reports.Of[*queues.Section](r)
	all = append(all, of(t, ofQueues, ok).Charts...)
	ofControl, ok := reports.Of[*control.Section](r)
	all = append(all, of(t, ofControl, ok).Charts...)
	gaps := 0
	for i := range all {
		for _, p := range all[i].Panels {
			for _, l := range p.Lines {
				for _, v := range l.Values {
					if math.IsNaN(v) {
						gaps++
					}
				}
			}
		}
		if diff := cmp.Diff(series.Find(back.Charts, all[i].ID), &all[i], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("after JSON (-got +want):\n%.3000s", diff)
		}
	}
	if len(all) < 6 || gaps == 0 {
		t.Errorf("%d charts, %d gaps", len(all), gaps)
	}
}
