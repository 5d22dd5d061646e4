package process

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/nodes/host"
	"github.com/csiglab/csiglab/nodes/host/player"
	"github.com/csiglab/csiglab/nodes/machine"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/msccl"
	"github.com/csiglab/csiglab/workloads/pipeline"
	"github.com/csiglab/csiglab/workloads/simai"
	"github.com/csiglab/csiglab/workloads/trace"
	"github.com/csiglab/csiglab/workloads/training"
)

// samples has a small source of each type.
func samples(t *testing.T) []graph.Source {
	b := graph.Builder{}
	b.Add(graph.Op{Kind: graph.Send, Peer: 1, Channel: 3, Bytes: 7, Total: 14, NotBefore: 5, Fence: true}, b.Compute(9))
	made := func(s graph.Source, err error) graph.Source {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	return []graph.Source{
		&graph.Static{Names: graph.Labels{Phases: []string{"p"}}, Count: 1, All: 2, Of: map[int][]graph.Op{0: b.Ops}},
		made(collective.New(collective.Config{Call: collective.Call{Kind: collective.AllReduce, Bytes: units.MB}, Ranks: 4, Iterations: 2, Gap: units.Microsecond})),
		made(algorithm(t)),
		made(pipeline.New(pipeline.Config{Stages: 3, Microbatches: 4, Forward: units.Millisecond, Backward: units.Millisecond, Message: units.MB, Steps: 2})),
		&trace.Source{
			Names: graph.Labels{Collectives: []graph.Collective{{Name: "sum", Kind: "all_reduce", Ranks: 2, Bytes: 8}}}, All: 2, Repeat: 2,
			Nodes:  [][]trace.Node{{{Kind: trace.Collective}}, {{Kind: trace.Collective}}},
			Calls:  []trace.Call{{Call: collective.Call{Kind: collective.AllReduce, Bytes: 8}}},
			Groups: [][]int{{0, 1}},
		},
		&simai.Source{
			Names: graph.Labels{Collectives: []graph.Collective{{Name: "sum", Kind: "all_reduce", Ranks: 2, Bytes: 8}}}, Layout: simai.Layout{TP: 2, DP: 1, PP: 1, EP: 1}, Passes: 2,
			Stages: [][]simai.Item{{{Do: simai.Compute, Phase: graph.None, Duration: 5}, {Do: simai.Collective, Kind: collective.AllReduce, Phase: graph.None, Bytes: 8}}},
		},
		made(training.New(training.Config{
			Model: training.Model{Layers: 4, Hidden: 64, FFN: 256, Heads: 4, Sequence: 16}, Parallel: training.Parallel{TP: 2, PP: 2},
			MicroBatch: 1, GlobalBatch: 2, Compute: training.Compute{Forward: units.Microsecond}, Steps: 2,
		})),
		graph.NewScaled(made(training.NewProfile(training.Profile{Ranks: 2, Compute: units.Microsecond, Bytes: units.KB, Steps: 1})), 0.5),
		made(training.NewProfile(training.Profile{Ranks: 2, Compute: units.Microsecond, Bytes: units.KB, Steps: 2})),
	}
}

// algorithm returns the ring of the examples.
func algorithm(t *testing.T) (graph.Source, error) {
	f, err := os.Open(filepath.Join(checkout.Repository(t), "docs", "examples", "workloads", "ring.xml"))
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	s, _, err := msccl.Read("ring.xml", f, msccl.Options{Bytes: units.MB, Iterations: 2})
	return s, err
}

// programs returns all operations of a source in words.
func programs(s graph.Source) (all []string) {
	for rank := range s.Ranks() {
		var op graph.Op
		for p := s.Program(rank, 3); p.Next(&op); {
			all = append(all, fmt.Sprintf("%d %+v", rank, op))
		}
	}
	return all
}

// Every type of source gets to a node's process: it is registered, and what is decoded has
// the same programs.
func TestSources(t *testing.T) {
	var types []string
	for _, s := range samples(t) {
		name := strings.TrimPrefix(fmt.Sprintf("%T", s), "*")
		types = append(types, name)
		spec := Spec{Machine: machine.Spec{Host: &host.Config{Player: player.Config{Jobs: []player.Job{{Source: s, Ranks: []int{0}}}}}}}
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(spec); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got Spec
		if err := gob.NewDecoder(&b).Decode(&got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		decoded := got.Machine.Host.Player.Jobs[0].Source
		if want := programs(s); len(want) < 2 {
			t.Errorf("%s: the sample has no programs", name)
		} else if diff := cmp.Diff(programs(decoded), want); diff != "" || fmt.Sprintf("%T", decoded) != fmt.Sprintf("%T", s) {
			t.Errorf("%s: decoded as %T, programs (-got +want):\n%s", name, decoded, diff)
		}
	}
	declared := declaredSources(t)
	slices.Sort(types)
	if diff := cmp.Diff(types, declared); diff != "" {
		t.Errorf("types of graph.Source with a sample here, against those of package workloads and below; a new one needs an entry of sources.go and a sample (-here +there):\n%s", diff)
	}
}

// declaredSources returns the types with a method Only, which makes a graph.Source.
func declaredSources(t *testing.T) (names []string) {
	only := regexp.MustCompile(`(?m)^func \(\w* ?\*?(\w+)\) Only\(.*\) (?:graph\.)?Source `)
	err := filepath.WalkDir(filepath.Join(checkout.Repository(t), "workloads"), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range only.FindAllStringSubmatch(string(text), -1) {
			names = append(names, filepath.Base(filepath.Dir(path))+"."+m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
