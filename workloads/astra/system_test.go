package astra

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/workloads/collective"
)

// Each entry is a file, and what is taken from it and noted.
func TestRead(t *testing.T) {
	const (
		reduce, scatter, gather, exchange = collective.AllReduce, collective.ReduceScatter, collective.AllGather, collective.AllToAll
		ring, direct, halving, inner      = collective.Ring, collective.Direct, collective.HalvingDoubling, collective.Hierarchical
	)
	for _, c := range []struct {
		name, text      string
		local           int
		algorithms      map[collective.Kind]collective.Algorithm
		channels, peers int
		notes           []string
	}{
		{name: "every list", text: `{"all-reduce-implementation": ["doubleBinaryTree"], "reduce-scatter-implementation": ["halvingDoubling"],
			"all-gather-implementation": ["direct"], "all-to-all-implementation": ["direct"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: collective.Tree, scatter: halving, gather: direct, exchange: direct}, channels: 1, peers: 64},
		{name: "windows", text: `{"all-to-all-implementation": ["direct4"], "all-gather-implementation": ["oneDirect2", "ring"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{exchange: direct, gather: direct}, channels: 1, peers: 4,
			notes: []string{"all-gather-implementation [oneDirect2, ring]: the window is not used: each rank sends to all others at once"}},
		{name: "all dimensions together", text: `{"all-reduce-implementation": ["oneRing", "oneRing"], "reduce-scatter-implementation": ["oneHalvingDoubling"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: ring, scatter: halving}, channels: 1, peers: 1},
		{name: "two dimensions", text: `{"all-reduce-implementation": ["ring", "ring"], "all-to-all-implementation": ["direct2", "direct2"]}`, local: 8,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: inner, exchange: inner}, channels: 1, peers: 2},
		{name: "dimensions that csiglab lacks", text: `{"all-reduce-implementation": ["halvingDoubling", "ring"], "all-gather-implementation": ["ring", "ring"], "all-to-all-implementation": ["direct", "direct", "direct"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: halving, gather: ring, exchange: direct}, channels: 1, peers: 64,
			notes: []string{
				"all-reduce-implementation [halvingDoubling, ring]: csiglab does not have it by these dimensions: halving_doubling over all ranks",
				"all-gather-implementation [ring, ring]: csiglab does not have it by these dimensions: ring over all ranks",
				"all-to-all-implementation [direct, direct, direct]: csiglab does not have it by these dimensions: direct over all ranks",
			}},
		{name: "all-to-all around a ring", text: `{"all-to-all-implementation": ["ring"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{exchange: direct}, channels: 1, peers: 1,
			notes: []string{"all-to-all-implementation [ring]: csiglab has no all-to-all that ranks pass on around a ring: each rank sends to one after the other"}},
		{name: "pieces at the same time", text: `{"preferred-dataset-splits": 4, "active-chunks-per-dimension": 8, "all-reduce-implementation": ["ring"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: ring}, channels: 4, peers: 1},
		{name: "pieces after each other", text: `{"preferred-dataset-splits": 4, "active-chunks-per-dimension": 2, "all-reduce-implementation": ["ring"]}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: ring}, channels: 1, peers: 1,
			notes: []string{"preferred-dataset-splits 4 with active-chunks-per-dimension 2 is not used: csiglab has the pieces of a buffer all at the same time, up to 64, or one piece, as here"}},
		{name: "other keys", text: `{"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"], "local-mem-bw": 1600.5, "model": {"x": [1]}}`,
			algorithms: map[collective.Kind]collective.Algorithm{reduce: ring}, channels: 1, peers: 1,
			notes: []string{"not used: scheduling-policy, local-mem-bw, model"}},
	} {
		got, err := Read("system.json", strings.NewReader(c.text), c.local)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := &System{Algorithms: make([]collective.Algorithm, len(collective.Kind(0).Names())), Channels: c.channels, Peers: c.peers}
		for kind, a := range c.algorithms {
			want.Algorithms[kind] = a
		}
		for _, note := range c.notes {
			want.Notes = append(want.Notes, "system.json: "+note)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// Each entry is a wrong file, and the whole message.
func TestWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", ``, `f.json:1:1: the end; want a system file of ASTRA-sim, an object`},
		{"a list", `[]`, `f.json:1:1: a list; want a system file of ASTRA-sim, an object`},
		{"cut off", `{"all-reduce-implementation": ["ring"`, ``},
		{"more behind the end", `{"all-reduce-implementation": ["ring"]} {}`, `f.json:1:41: an object follows the end`},
		{"window of a ring", `{"all-reduce-implementation": ["ring4"]}`, `f.json:1:32: unknown algorithm "ring4"; known: direct doubleBinaryTree halvingDoubling oneDirect oneHalvingDoubling oneRing ring (did you mean "ring"?)`},
		{"nothing of collectives", "\n{\"local-mem-bw\": 1}",
			`f.json:2:1: the file names no algorithms; want one or more of all-gather-implementation, all-reduce-implementation, all-to-all-implementation, reduce-scatter-implementation`},
		{"key twice", `{"all-reduce-implementation": ["ring"], "all-reduce-implementation": ["ring"]}`, `f.json:1:41: the key "all-reduce-implementation" is there twice`},
		{"misspelt key", `{"all-reduce-implementaton": ["ring"]}`, `f.json:1:2: unknown key "all-reduce-implementaton" (did you mean "all-reduce-implementation"?)`},
		{"no list", `{"all-reduce-implementation": "ring"}`, `f.json:1:31: a string, want a list`},
		{"empty list", `{"all-reduce-implementation": []}`, `f.json:1:32: all-reduce-implementation is empty; it has an algorithm for each dimension`},
		{"no text", `{"all-reduce-implementation": [1]}`, `f.json:1:32: a number, want a string`},
		{"misspelt algorithm", "{\n\"all-reduce-implementation\": [\"ring\",\n  \"rings\"]}", `f.json:3:3: unknown algorithm "rings"; known: direct doubleBinaryTree halvingDoubling oneDirect oneHalvingDoubling oneRing ring (did you mean "ring"?)`},
		{"unknown algorithm", `{"all-reduce-implementation": ["hierarchicalRing"]}`,
			`f.json:1:32: unknown algorithm "hierarchicalRing"; known: direct doubleBinaryTree halvingDoubling oneDirect oneHalvingDoubling oneRing ring`},
		{"window of zero", `{"all-to-all-implementation": ["direct0"]}`, `f.json:1:32: unknown algorithm "direct0"; known: direct doubleBinaryTree halvingDoubling oneDirect oneHalvingDoubling oneRing ring (did you mean "direct"?)`},
		{"tree of another kind", `{"all-gather-implementation": ["doubleBinaryTree"]}`, `f.json:1:32: there is no doubleBinaryTree of all-gather`},
		{"halving of all-to-all", `{"all-to-all-implementation": ["halvingDoubling"]}`, `f.json:1:32: there is no halvingDoubling of all-to-all`},
		{"two dimensions of unknown size", `{"all-reduce-implementation": ["ring", "ring"]}`, `f.json:1:32: all-reduce-implementation has two dimensions; the key local says how many ranks the first one has`},
		{"splits of zero", `{"preferred-dataset-splits": 0}`, `f.json:1:30: preferred-dataset-splits is 0, want 1 to 2147483647`},
		{"chunks that are no whole number", `{"active-chunks-per-dimension": 1.5}`, ``},
		{"traces of collectives", `{"all-reduce-implementation-custom": ["x"]}`,
			`f.json:1:2: all-reduce-implementation-custom names a trace of one collective, and csiglab does not put such a trace into another; it can be a job of its own`},
	} {
		_, err := Read("f.json", strings.NewReader(c.text), 0)
		var at *lines.Error
		if !errors.As(err, &at) || c.want != "" && err.Error() != c.want {
			t.Errorf("%s: error\n%v, want\n%s", c.name, err, c.want)
		}
	}
}

// Whatever a file has, what is read of it can be played, or its error has a place.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"all-reduce-implementation": ["ring", "oneDirect3"], "all-to-all-implementation": ["direct2", "direct2"], "preferred-dataset-splits": 3, "active-chunks-per-dimension": 4}`), 2)
	f.Fuzz(func(t *testing.T, text []byte, local int) {
		s, err := Read("f", strings.NewReader(string(text)), local)
		if err != nil {
			var at *lines.Error
			if !errors.As(err, &at) {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		c := collective.Choices{Algorithms: s.Algorithms, Channels: s.Channels, Peers: s.Peers, Local: 2}
		for kind := range s.Algorithms {
			call := c.Call(collective.Kind(kind), 1000, 0)
			call.Group = []int{0, 1, 2, 3}
			if err := call.Validate(); err != nil {
				t.Error(err)
			}
		}
	})
}

func ExampleRead() {
	s, err := Read("system.json", strings.NewReader(`{"all-reduce-implementation": ["ring", "ring"], "preferred-dataset-splits": 2, "active-chunks-per-dimension": 2}`), 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Algorithms[collective.AllReduce], s.Channels)
	// Output: hierarchical 2
}
