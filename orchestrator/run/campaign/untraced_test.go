package campaign

import (
	"context"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
)

const untracedText = fatTree16 + `
workload: {transfers: [0 -> 8 200kB, 4 -> 8 200kB]}
variants:
  plain: {}
  csig: {csig.format: compact, hosts.cc.csig: max-delay}
seeds: [1, 2]
telemetry: {trace_hash: none}
`

// A run without trace hash is the same run: every metric but the CPU time. Manifest and
// summary say so and have no hash, and whatever compares hashes is refused.
func TestUntraced(t *testing.T) {
	traced := parseText(t, strings.Replace(untracedText, "none", "full", 1))
	with, err := Run(t.Context(), traced, Options{Out: filepath.Join(t.TempDir(), "with")})
	if err != nil {
		t.Fatal(err)
	}
	set := parseText(t, untracedText)
	folder := filepath.Join(t.TempDir(), "without")
	without, err := Run(t.Context(), set, Options{Out: folder})
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range with.Summary.Variants {
		if len(v.TraceHash) != 64 || without.Summary.Variants[name].TraceHash != "" {
			t.Errorf("variant %s: trace hash %q with, %q without; want one and none", name, v.TraceHash, without.Summary.Variants[name].TraceHash)
		}
		for i, r := range v.Runs {
			other := without.Summary.Variants[name].Runs[i]
			for _, m := range []map[string]float64{r.Metrics, other.Metrics} {
				maps.DeleteFunc(m, func(name string, _ float64) bool { return name == "cpu_seconds" })
			}
			if diff := cmp.Diff(other.Metrics, r.Metrics); diff != "" || len(r.Metrics) < 20 {
				t.Errorf("%s, seed %d: metrics (-without +with):\n%s", name, r.Seed, diff)
			}
		}
	}
	if with.Summary.NoTraceHash || !without.Summary.NoTraceHash {
		t.Errorf("noTraceHash %v with, %v without", with.Summary.NoTraceHash, without.Summary.NoTraceHash)
	}
	if !strings.Contains(strings.Join(without.Notes, "\n"), "no trace hash: telemetry.trace_hash is none") || strings.Contains(strings.Join(with.Notes, "\n"), "trace hash") {
		t.Errorf("notes with: %q\nwithout: %q", with.Notes, without.Notes)
	}
	for _, name := range []string{runfolder.ManifestFile, runfolder.SummaryFile} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{`"traceHash"`, `"nodeHashes"`, strings.Repeat("0", 64)} {
			if strings.Contains(string(text), key) {
				t.Errorf("%s has %s", name, key)
			}
		}
		if !strings.Contains(string(text), `"noTraceHash": true`) {
			t.Errorf("%s does not have noTraceHash", name)
		}
	}

	refused := map[string]func() error{
		"--check-parity compares": func() error {
			_, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "parity"), CheckParity: true})
			return err
		},
		"needs clock virtual": func() error {
			_, err := Run(t.Context(), set, Options{Out: filepath.Join(t.TempDir(), "real"), Runtime: runtimes.Netns, Clock: runtimes.Lockstep})
			return err
		},
		"has no trace hash": func() error {
			return packets.Recapture{Folder: folder, Link: "tor0-agg0", AnySeed: true}.Write(t.Context(), io.Discard)
		},
	}
	for want, do := range refused {
		if err := do(); !errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want a configuration error with %q", err, want)
		}
	}
}

// A run without trace hash that is resumed goes on without.
func TestUntracedResumed(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	ctx, opts := until(1, Options{Out: folder, Version: "1"})
	if _, err := Run(ctx, parseText(t, untracedText), opts); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want an interruption", err)
	}
	result, err := Resume(t.Context(), folder, Options{Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if f := open(t, folder); !result.Summary.NoTraceHash || !f.Manifest.NoTraceHash || len(f.Manifest.Runs) != 4 || f.Manifest.Runs[3].TraceHash != "" {
		t.Errorf("summary %+v, manifest %+v", result.Summary, f.Manifest)
	}
}
