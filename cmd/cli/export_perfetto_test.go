package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// export --perfetto writes a whole trace or nothing, and refuses what it does not know.
func TestExportPerfetto(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	file := filepath.Join(t.TempDir(), "trace.json")
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "export", folder, "--perfetto", file, "--variant", "csig", "--seed", "2", "--ports", "1")
	if code != 0 || stdout != "" || !strings.Contains(stderr, "variant csig, seed 2: 3 slices") || !strings.Contains(stderr, "counters of 1 of 4 ports") {
		t.Errorf("exit %d: %s%s", code, stdout, stderr)
	}
	whole, err := os.ReadFile(file)
	if err != nil || !json.Valid(whole) {
		t.Fatalf("%d bytes, valid: %v, %v", len(whole), json.Valid(whole), err)
	}
	if code, stdout, stderr := csiglab(&fakeLab{}, nil, "export", folder, "--perfetto", "-", "--variant", "csig", "--seed", "2", "--ports", "1"); code != 0 || stdout != string(whole) {
		t.Errorf("standard output has %d bytes, the file %d: %s", len(stdout), len(whole), stderr)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--perfetto FILE"},
		{[]string{"--perfetto", file, "--variant", "x"}, `variants: ["baseline" "csig" "csig-wide"]`},
		{[]string{"--perfetto", file, "--seed", "9"}, "seeds: [1 2 3]"},
		{[]string{"--perfetto", file, "--ports", "-1"}, "--ports -1: want 0 or more"},
		{[]string{"--ports", "3"}, "--ports needs --perfetto"},
		{[]string{"--perfetto", file, "--openmetrics", "x"}, "exclude each other"},
		{[]string{"--perfetto", filepath.Join(folder, "none", "x.json")}, "cannot be written: no such file"},
	} {
		if code, _, stderr := csiglab(&fakeLab{}, nil, append([]string{"export", folder}, c.args...)...); code != command.ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d: %s", c.args, code, stderr)
		}
	}
	if err := os.Truncate(filepath.Join(folder, "ports.parquet"), 1000); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := csiglab(&fakeLab{}, nil, "export", folder, "--perfetto", file); code != command.ExitInfrastructure || !strings.Contains(stderr, "ports.parquet") {
		t.Errorf("damaged: exit %d: %s", code, stderr)
	}
	if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, whole) {
		t.Errorf("a damaged folder has changed the file before: %v", err)
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there is something left: %v, %v", left, err)
	}
}

// A damaged or half-written run folder gives a clear message that names the file: the report,
// its other forms and the trace.
func TestDamagedFolders(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Windows, e.Seeds = 20, e.Seeds[:1]
	whole := e.Folder(t, nil).Dir
	edit := func(name string, change func([]byte) []byte) func(string) error {
		return func(folder string) error {
			path := filepath.Join(folder, name)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(path, change(text), 0o644)
		}
	}
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	zero := func(b []byte) []byte { return make([]byte, len(b)) }
	none := func([]byte) []byte { return nil }
	remove := func(name string) func(string) error {
		return func(folder string) error { return os.Remove(filepath.Join(folder, name)) }
	}
	resealed := func(change func(*runfolder.Manifest)) func(string) error {
		return func(folder string) error { return readingtest.Reseal(folder, change) }
	}
	all := func(changes ...func(string) error) func(string) error {
		return func(folder string) error {
			for _, change := range changes {
				if err := change(folder); err != nil {
					return err
				}
			}
			return nil
		}
	}
	nothing := func(*runfolder.Manifest) {}
	for _, c := range []struct {
		name   string
		damage func(folder string) error
		code   int
		want   string
	}{
		{"a truncated table", edit("ports.parquet", cut), command.ExitInfrastructure, "ports.parquet"},
		{"a truncated table with its digest", all(edit("ports.parquet", cut), resealed(nothing)), command.ExitInfrastructure, "ports.parquet"},
		{"a table of zeros", all(edit("phases.parquet", zero), resealed(nothing)), command.ExitInfrastructure, "phases.parquet"},
		{"an empty table", all(edit("ports.parquet", none), resealed(nothing)), command.ExitInfrastructure, "ports.parquet"},
		{"a changed byte", edit("ports.parquet", func(b []byte) []byte { b[len(b)/3] ^= 1; return b }), command.ExitInfrastructure, "ports.parquet"},
		{"no table", remove("phases.parquet"), command.ExitInfrastructure, "phases.parquet"},
		{"other rows", resealed(func(m *runfolder.Manifest) { m.Tables["ports"]++ }), command.ExitInfrastructure, "the manifest says"},
		{"no manifest", remove(runfolder.ManifestFile), command.ExitUsage, "it has no manifest.json"},
		{"half a manifest", edit(runfolder.ManifestFile, cut), command.ExitInfrastructure, "manifest.json"},
		{"another manifest", edit(runfolder.ManifestFile, func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"name": "three-flow"`), []byte(`"name": "four-flows"`), 1)
		}), command.ExitInfrastructure, "manifest.json"},
		{"no summary", remove(runfolder.SummaryFile), command.ExitInfrastructure, "summary.json is missing"},
		{"half-written", resealed(func(m *runfolder.Manifest) { m.Complete, m.Reason, m.Tables = false, "killed", nil }), command.ExitInfrastructure, "incomplete"},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "run")
			if err := os.CopyFS(folder, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			if err := c.damage(folder); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"report", folder}, {"report", folder, "--markdown"}, {"report", folder, "--json"}, {"export", folder, "--perfetto", filepath.Join(t.TempDir(), "x")}} {
				code, stdout, stderr := csiglab(&fakeLab{}, nil, args...)
				if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") > 2 || strings.Contains(stderr, "panic") {
					t.Errorf("%q: exit %d, want %d with %q: %s%s", args[0]+strings.Join(args[2:], " "), code, c.code, c.want, stdout, stderr)
				}
			}
		})
	}
}
