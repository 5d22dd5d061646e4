package cli

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/perform"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
)

// long are embedded experiments of which one seed takes as much time as two of all others.
var long = []string{"adaptive", "all-reduce", "cluster-rotation", "collective", "flow-scheduling", "priorities", "table-1", "te-loop"}

// TestEmbeddedExperiments holds that what the embedded experiments of virtual time expect is
// true of their first two seeds, of the first of long ones, with the program that users run.
// The numbers of their reports are those that the program had before reports were made of
// sections (revision 4e4aef00): testdata/numbers.txt has their digests. After a change of
// numbers that is meant, write those that this test prints.
func TestEmbeddedExperiments(t *testing.T) {
	needTime(t)
	programs := builtPrograms(t)
	text, err := os.ReadFile("testdata/numbers.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), " ")
		want[name] = digest
	}
	for _, name := range experiment.Names() {
		set, err := experiment.Load(name, experiment.Options{Tables: experiment.StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		if set.Base.Runtime != runtimes.Inproc {
			continue
		}
		t.Run(name, func(t *testing.T) {
			seeds := "2"
			if slices.Contains(long, name) {
				seeds = "1"
			}
			csiglab, folder := filepath.Join(programs, "csiglab"), filepath.Join(t.TempDir(), "run")
			// With --json the program reads nothing of the run, of which WriteReport reads all.
			run := exec.CommandContext(t.Context(), csiglab, "run", name, "--seeds", seeds, "--no-report", "--json", "--out", folder)
			var said bytes.Buffer
			run.Stderr = &said
			if err := run.Run(); err != nil {
				expected, _ := exec.CommandContext(t.Context(), csiglab, "check", folder).CombinedOutput()
				t.Fatalf("%v\n%s%s", err, said.Bytes(), expected)
			}
			_, report, err := perform.WriteReport(t.Context(), folder, nil)
			if err != nil {
				t.Fatal(err)
			}
			var numbers bytes.Buffer // of the reading that has given report.html
			if err := report.WriteJSON(&numbers); err != nil {
				t.Fatal(err)
			}
			if got := digestOf(t, numbers.Bytes()); got != want[name] {
				t.Errorf("the numbers of the report have another digest; testdata/numbers.txt has %q, want:\n%s %s", want[name], name, got)
			}
		})
	}
}

// digestOf returns a digest of the JSON form of a report, without its sentences and what
// depends on the machine and the time. The order of keys and of charts is nobody's.
func digestOf(t *testing.T, text []byte) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	delete(all, "story")
	delete(all, "setup")
	objects := func(list any) (all []map[string]any) {
		of, _ := list.([]any)
		for _, v := range of {
			all = append(all, v.(map[string]any))
		}
		return all
	}
	for _, run := range objects(all["runs"]) {
		delete(run, "wallSeconds")
		delete(run, "cpuSeconds")
	}
	for _, v := range objects(all["variants"]) {
		v["metrics"] = slices.DeleteFunc(objects(v["metrics"]), func(m map[string]any) bool { return strings.HasSuffix(m["name"].(string), "_seconds") })
	}
	charts := objects(all["charts"])
	slices.SortFunc(charts, func(a, b map[string]any) int { return cmp.Compare(a["id"].(string), b["id"].(string)) })
	all["charts"] = charts
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:32]
}
