package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
)

// What a file leaves open is said by keys: the ranks, how often it is played, the unit of its
// times and how collectives are made.
func TestKeysOfTraces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "micro.txt")
	if err := os.WriteFile(file, []byte("DATA\n1\nconv1 -1 1000 NONE 0 0 NONE 0 0 ALLREDUCE 65536 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	played := func(keys string) (source graph.Source, sends int, compute units.Duration) {
		t.Helper()
		set, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs: [{name: a, ranks: 4, steps: 2, trace: {file: "+file+keys+"}}]\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		jobs, _, err := set.Base.BuildJobs(built(t, set))
		if err != nil {
			t.Fatal(err)
		}
		var op graph.Op
		for p := jobs[0].Source.Program(0, 1); p.Next(&op); {
			switch op.Kind {
			case graph.Send:
				sends++
			case graph.Compute:
				compute += op.Duration
			}
		}
		return jobs[0].Source, sends, compute
	}
	source, sends, compute := played("")
	if source.Ranks() != 4 || source.Steps() != 2 || sends != 2*6 || compute != 2*units.Microsecond {
		t.Errorf("%d ranks, %d steps, rank 0 sends %d messages and computes %v; want 4, 2, 12 and 2us", source.Ranks(), source.Steps(), sends, compute)
	}
	if _, sends, compute := played(", algorithm: halving_doubling, time_unit: us"); sends != 2*4 || compute != 2*units.Millisecond {
		t.Errorf("by halving and doubling, in us: %d messages and %v; want 8 and 2ms", sends, compute)
	}
	if _, sends, compute := played(", scale: 0.25"); sends != 2*6 || compute != units.Microsecond/2 {
		t.Errorf("at scale 0.25: %d messages and %v; want 12 and 500ns", sends, compute)
	}
	if _, sends, _ := played(", channels: 2"); sends != 2*12 {
		t.Errorf("with two channels %d messages, want 24", sends)
	}
}

// TestTraceByPrefix: what the names of a trace's files begin with names the trace, relative to the
// experiment, and the files are those that the set reads.
func TestTraceByPrefix(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for rank, name := range []string{"c_all_reduce.0.json", "c_all_reduce.1.json", "other.0.json"} {
		const text = `{"workload_graph": [{"Id": 1, "Name": "a", "NodeType": 7, "ctrlDeps": [], "data_deps": [], "comm_type": 0, "comm_size": 800}]}`
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rank < 2 {
			want = append(want, file)
		}
	}
	set, err := Parse("x.yaml", dir, []byte(jobsOnly+"jobs: [{name: a, trace: {file: c_all_reduce}}]\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, set.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	jobs, _, err := set.Base.BuildJobs(built(t, set))
	if err != nil || jobs[0].Source.Ranks() != 2 {
		t.Errorf("jobs %v, %v; want 2 ranks", jobs, err)
	}
	_, err = Parse("x.yaml", dir, []byte(jobsOnly+"jobs: [{name: a, trace: {file: d_all_reduce}}]\n"), Options{})
	if err == nil || !strings.Contains(err.Error(), "jobs[0].trace.file: file "+filepath.Join(dir, "d_all_reduce")+": no such file or directory") {
		t.Errorf("a trace that is not there: %v", err)
	}
}

func TestTracesThatAreNotRepeated(t *testing.T) {
	set, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs: [{name: a, trace: testdata/ring.goal, steps: 2}]\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = set.Base.BuildJobs(built(t, set)); err == nil || !strings.Contains(err.Error(), "has 1 steps, the job's key steps says 2; format goal is not repeated") {
		t.Errorf("error %v", err)
	}
}

// An algorithm of MSCCL is the collective that it does: with size and steps it sends the same
// bytes, and its results have the same kind, as a job of kind collective.
func TestAlgorithmsAreCollectives(t *testing.T) {
	source := func(job string) graph.Source {
		t.Helper()
		set, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs: [{name: a, ranks: 4, steps: 3, "+job+"}]\n"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		jobs, _, err := set.Base.BuildJobs(built(t, set))
		if err != nil {
			t.Fatal(err)
		}
		return jobs[0].Source
	}
	xml := source("trace: {file: ../../docs/examples/workloads/ring.xml, size: 4MB}")
	own := source("collective: {kind: all_reduce, algorithm: ring, size: 4MB}")
	link := graph.Link{Rate: units.Gbps, Latency: units.Microsecond}
	a, err := graph.Ideal(xml, 1, link)
	if err != nil {
		t.Fatal(err)
	}
	b, err := graph.Ideal(own, 1, link)
	if err != nil {
		t.Fatal(err)
	}
	if a.End != b.End || a.Bytes != b.Bytes || a.Messages != b.Messages || xml.Steps() != 3 {
		t.Errorf("%+v in %d steps, the collective %+v", a, xml.Steps(), b)
	}
	if got, want := xml.Labels().Collectives[0], own.Labels().Collectives[0]; got != want {
		t.Errorf("labels %+v, of the collective %+v", got, want)
	}
}
