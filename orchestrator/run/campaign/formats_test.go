package campaign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// formatsExample is an experiment with tags of 4 B and of 8 B on one path.
const formatsExample = "../../../docs/examples/formats.yaml"

// formatsGolden are the trace hashes of its variants with seed 1, as those in golden.
var formatsGolden = map[string]string{"both": "3156531dbc945523", "swapped": "3ce701fd148e69e8", "apart": "a4ef6b9d54f5df94"}

// All expectations of the example hold, and its tables have the format of each sample.
func TestTwoFormats(t *testing.T) {
	text, err := os.ReadFile(formatsExample)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "run")
	got := runIn(t, parseText(t, strings.Replace(string(text), "seeds: 1..3", "seeds: [1]", 1)), Options{Out: folder})
	if !got.Valid {
		t.Fatalf("invalid: %q", got.Reasons)
	}
	for _, e := range got.Expectations {
		if !e.OK {
			t.Errorf("%s: %s", e.Expr, e.Text)
		}
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range f.Manifest.Runs {
		if want := formatsGolden[r.Variant]; !strings.HasPrefix(r.TraceHash, want) || want == "" {
			t.Errorf("%s: trace hash %.16s, want %s", r.Variant, r.TraceHash, want)
		}
	}
	formats := map[string]string{"both 0-2": "compact", "both 1-3": "wide", "swapped 0-2": "wide", "swapped 1-3": "compact", "apart 0-2": "compact", "apart 1-3": "wide"}
	samples := 0
	for r, err := range f.Signals() {
		if err != nil {
			t.Fatal(err)
		}
		if want := formats[r.Variant+" "+r.FlowName]; r.Format != want {
			t.Fatalf("%s, flow %s: a sample of format %q, want %q", r.Variant, r.FlowName, r.Format, want)
		}
		samples++
	}
	truths := 0
	for r, err := range f.Truth() {
		if err != nil {
			t.Fatal(err)
		}
		if want := formats[r.Variant+" "+r.FlowName]; r.Format != want {
			t.Fatalf("%s, flow %s: the truth of a sample of format %q, want %q", r.Variant, r.FlowName, r.Format, want)
		}
		truths++
	}
	if samples == 0 || truths == 0 {
		t.Errorf("%d samples, %d beside the truth", samples, truths)
	}
}

// Real frames with tags of both formats give the same trace.
func TestTwoFormatsInLockstep(t *testing.T) {
	checkout.SkipSlowRace(t)
	buildNodes(t)
	text, err := os.ReadFile(formatsExample)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.NewReplacer("3MB", "300kB", "seeds: 1..3", "seeds: [1]", "{from: 300us, to: 700us}", "{}").Replace(string(text))
	short, _, _ = strings.Cut(short, "expect:")
	if s := runOne(t, short, overFrames()); !s.Valid {
		t.Errorf("invalid: %q", s.Reasons)
	}
}
