package batch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// The files of an experiment are in the pod: those that its text names relative to itself or
// by absolute names, and those of overrides. A run in the pod finds all of them below the
// pod's folder, and none on the user's machine.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	graph, err := os.ReadFile("../../../docs/examples/fabrics/triangle.yaml")
	if err != nil {
		t.Fatal(err)
	}
	put("fabrics/one.yaml", string(graph))
	absolute := put("fabrics/two.yaml", string(graph)+"\n")
	given := put("fabrics/three.yaml", string(graph)+"\n\n")
	text := "schema: 1\nname: x\ntopology: {graph: {file: fabrics/one.yaml}}\nworkload: {transfers: [0 -> 1 10kB]}\nvariants:\n  one: {}\n  two: {topology: {graph: {file: " + absolute + "}}}\n"
	file := put("x.yaml", text)
	l := newLab(t)
	r := l.runner(t)
	one := trial.Trial{Identity: identity(t), Experiment: file, Content: "c", Seed: 1, Variant: "one"}
	out, err := r.Run(t.Context(), one)
	if err != nil || out.Exit != 0 || out.Metrics["files"] != 2 || out.Metrics["bytes"] != float64(2*len(graph)+1) {
		t.Errorf("%+v, %v", out, err)
	}
	// The user's files are not there in a pod.
	load := &payload{Names: []string{file, absolute, given}}
	root := "/work/input"
	for text, want := range map[string]string{
		"file: " + absolute:              "file: " + root + absolute,
		"[\"" + absolute + "\"," + given: "[\"" + root + absolute + "\"," + root + given,
		absolute + ".old":                absolute + ".old",
		"/mnt" + absolute:                "/mnt" + absolute,
	} {
		if got := load.relocate(text, root); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	one.Set = []string{"topology.graph.file=" + given}
	one.Variant = "one"
	n, err := needsOf(one)
	if err != nil || !n.given || n.guessed || n.memory < 1<<20 || len(n.reads) != 2 {
		t.Errorf("%+v, %v", n, err)
	}
}
