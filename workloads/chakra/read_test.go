package chakra

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/trace"
)

// message builds a message of a test.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) bytes(field protowire.Number, data []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), data)
}

func (m message) text(field protowire.Number, text string) message {
	return m.bytes(field, []byte(text))
}

// whole adds an attribute of a varint type.
func (m message) whole(name string, v int64) message {
	return m.bytes(nodeA, message{}.text(attrName, name).number(attrInt64, uint64(v)))
}

// named adds an attribute of text.
func (m message) named(name, v string) message {
	return m.bytes(nodeA, message{}.text(attrName, name).text(attrString, v))
}

// nd begins a node.
func nd(id, kind int, deps ...uint64) message {
	m := message{}.number(nodeID, uint64(id)).number(nodeType, uint64(kind)).text(nodeName, fmt.Sprintf("n%d", id))
	for _, d := range deps {
		m = m.number(nodeData, d) // not packed, which is as valid
	}
	return m
}

// et returns a file of nodes.
func et(nodes ...message) []byte {
	data := protowire.AppendBytes(nil, message{}.text(metaVersion, "0.0.4"))
	for _, n := range nodes {
		data = protowire.AppendBytes(data, n)
	}
	return data
}

// TestIntegerTypes: Chakra's tools write whole numbers in any type of protobuf.
func TestIntegerTypes(t *testing.T) {
	fixed32 := func(v uint32) []byte { return protowire.AppendFixed32(nil, v) }
	fixed64 := func(v uint64) []byte { return protowire.AppendFixed64(nil, v) }
	for _, c := range []struct {
		number protowire.Number
		kind   protowire.Type
		value  []byte
		want   int64
		err    string
	}{
		{attrInt32, protowire.VarintType, protowire.AppendVarint(nil, 70), 70, ""},
		{attrInt64, protowire.VarintType, protowire.AppendVarint(nil, 70), 70, ""},
		{attrUint32, protowire.VarintType, protowire.AppendVarint(nil, 70), 70, ""},
		{attrUint64, protowire.VarintType, protowire.AppendVarint(nil, 70), 70, ""},
		{attrSint32, protowire.VarintType, protowire.AppendVarint(nil, protowire.EncodeZigZag(70)), 70, ""},
		{attrSint64, protowire.VarintType, protowire.AppendVarint(nil, protowire.EncodeZigZag(70)), 70, ""},
		{attrFixed32, protowire.Fixed32Type, fixed32(70), 70, ""},
		{attrSfixed32, protowire.Fixed32Type, fixed32(70), 70, ""},
		{attrFixed64, protowire.Fixed64Type, fixed64(70), 70, ""},
		{attrSfixed64, protowire.Fixed64Type, fixed64(70), 70, ""},
		{attrBool, protowire.VarintType, protowire.AppendVarint(nil, 1), 1, ""},
		{attrDouble, protowire.Fixed64Type, fixed64(math.Float64bits(70)), 70, ""},
		{attrFloat, protowire.Fixed32Type, fixed32(math.Float32bits(70)), 70, ""},
		{attrString, protowire.BytesType, protowire.AppendString(nil, "70"), 70, ""},
		{attrInt32, protowire.VarintType, protowire.AppendVarint(nil, math.MaxUint64), -1, "comm_size is -1"}, // ten bytes
		{attrSfixed32, protowire.Fixed32Type, fixed32(math.MaxUint32), -1, "comm_size is -1"},
		{attrUint64, protowire.VarintType, protowire.AppendVarint(nil, math.MaxUint64), 0, "comm_size is no whole number of 64 bits"},
		{attrDouble, protowire.Fixed64Type, fixed64(math.Float64bits(0.5)), 0, "comm_size is no whole number of 64 bits"},
		{attrDouble, protowire.Fixed64Type, fixed64(math.Float64bits(math.NaN())), 0, "comm_size is no whole number of 64 bits"},
		{attrDouble, protowire.Fixed64Type, fixed64(math.Float64bits(1e300)), 0, "comm_size is no whole number of 64 bits"},
		{attrInt64, protowire.Fixed64Type, fixed64(1), 0, "field 9 has wire type 1, want 0"},
	} {
		a := append(protowire.AppendTag(message{}.text(attrName, "comm_size"), c.number, c.kind), c.value...)
		from := et(nd(1, typeSend).whole("comm_dst", 1).bytes(nodeA, a))
		to := et(nd(1, typeRecv).whole("comm_src", 0).whole("comm_size", c.want))
		s, _, err := Read(files(".et", from, to), Options{})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.HasPrefix(err.Error(), "t.0.et: byte ") {
				t.Errorf("field %d: got %v, want %s", c.number, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("field %d: %v", c.number, err)
		} else if got := sum(s, 0).bytes; got != units.Size(c.want) {
			t.Errorf("field %d: %d B, want %d", c.number, got, c.want)
		}
	}
}

// TestNodes: what becomes of each type of node, and what is lost.
func TestNodes(t *testing.T) {
	took := func(m message, micros uint64) message { return m.number(nodeDuration, micros) }
	data := et(
		took(nd(1, typeComp), 3),
		took(nd(2, typeComp).whole("is_cpu_op", 1), 4),
		took(nd(3, typeMemLoad), 5),
		nd(4, typeMemStore),
		nd(5, typeInvalid),
		nd(6, typeMetadata).named("unheard of", "x"),
		nd(7, 12),
		nd(8, typeColl),
		nd(9, typeColl).whole("comm_type", 77).whole("comm_size", 1),
		nd(10, typeColl).whole("comm_type", 0),
		nd(11, typeSend).whole("comm_size", 5),
		nd(12, typeComp).whole("num_ops", 1000),
		nd(13, typeColl).whole("comm_type", 0).whole("comm_size", 8).named("pg_name", "4"),
		nd(14, typeComp).whole("comm_priority", 1).whole("seq_id", -1).number(nodeControl, 99),
	)
	s, loss, err := Read(files(".et", data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	each(s, 0, func(op *graph.Op) {
		if op.Kind == graph.Compute {
			got = append(got, fmt.Sprintf("%v on %d", op.Duration, op.Unit))
		}
	})
	if diff := cmp.Diff([]string{"3us on 0", "4us on 1", "5us on 2"}, got); diff != "" {
		t.Errorf("compute (-want +got):\n%s", diff)
	}
	want := []string{
		"nodes of type MEM_STORE_NODE without duration", "nodes of type INVALID_NODE, which do nothing", "attributes unheard of, which csiglab has no use for", "nodes of unknown type 12",
		"nodes of type COMM_COLL_NODE without comm_type", "collectives of unknown comm_type 77", "collectives of 0 B, which send nothing",
		"nodes of type COMM_SEND_NODE without comm_dst", "nodes of type COMP_NODE with num_ops and without duration",
		"attributes comm_priority that are not 0, which csiglab has no use for", "collectives with a pg_name, of a trace without groups (all ranks take part)",
		"collectives of a single rank, which send nothing (--ranks, or ranks of a job, says how many ranks there are)", "dependencies on nodes that the trace does not have",
	}
	got = nil
	for _, lost := range loss.Items() {
		got = append(got, lost.What)
		if lost.Count != 1 || !strings.HasPrefix(lost.First, "t.0.et: byte ") {
			t.Errorf("%+v: want 1, with its byte", lost)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}

// TestKinds: comm_type and comm_size of each kind.
func TestKinds(t *testing.T) {
	for commType, want := range []struct {
		kind  string
		bytes units.Size
	}{
		{"all_reduce", 1200}, {"reduce", 1200}, {"all_gather", 3600}, {"gather", 3600}, {"scatter", 1200}, {"broadcast", 1200},
		{"all_to_all", 1200}, {"reduce_scatter", 1200}, {"reduce_scatter", 1200}, {"barrier", 0},
	} {
		data := et(nd(1, typeColl).whole("comm_type", int64(commType)).whole("comm_size", 1200).whole("root", 2))
		if commType == 9 {
			data = et(nd(1, typeColl).whole("comm_type", 9))
		}
		s, loss, err := Read(files(".et", data, data, data), Options{})
		if err != nil || !loss.Empty() {
			t.Errorf("comm_type %d: %v, lost %v", commType, err, loss)
			continue
		}
		if err := graph.Check(s, 0); err != nil {
			t.Errorf("comm_type %d: %v", commType, err)
		}
		if c := s.Labels().Collectives[0]; c.Kind != want.kind || c.Bytes != want.bytes {
			t.Errorf("comm_type %d: %+v, want %+v", commType, c, want)
		}
		// The root alone sends in a broadcast by chain, and alone does not in a reduce.
		if first, root := sum(s, 0), sum(s, 2); want.kind == "scatter" && (first.sends != 0 || root.sends != 2) || want.kind == "gather" && (root.sends != 0 || first.sends != 1) {
			t.Errorf("%s: rank 0 does %+v, the root %+v", want.kind, first, root)
		}
	}
}

func TestOptions(t *testing.T) {
	data := et(nd(1, typeComp).number(nodeDuration, 7), nd(2, typeColl).number(nodeControl, 1).whole("comm_type", 0).whole("comm_size", 1200))
	read := func(o Options) graph.Source {
		t.Helper()
		s, _, err := Read(files(".et", data, data, data, data), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if got := sum(read(Options{Unit: units.Nanosecond}), 0).compute; got != 7*units.Nanosecond {
		t.Errorf("unit ns: %v", got)
	}
	if got := sum(read(Options{Options: trace.Options{Steps: 3}}), 0); got.compute != 21*units.Microsecond || got.sends != 18 {
		t.Errorf("three steps: %+v", got)
	}
	algorithms := []collective.Algorithm{collective.AllReduce: collective.HalvingDoubling}
	if got := sum(read(Options{Options: trace.Options{Choices: collective.Choices{Algorithms: algorithms}}}), 0); got.sends != 4 || got.bytes != 1800 {
		t.Errorf("halving-doubling: %+v", got)
	}
	if got := sum(read(Options{Options: trace.Options{Choices: collective.Choices{Channels: 2, Chunk: 100}}}), 0); got.sends != 24 || got.bytes != 1800 {
		t.Errorf("two channels, chunks: %+v", got)
	}
	first := func(s graph.Source) (deps []uint32) {
		each(s, 0, func(op *graph.Op) {
			if op.Kind == graph.Begin && op.Tag.Collective != graph.None {
				deps = append([]uint32{}, op.Deps...)
			}
		})
		return deps
	}
	if all := first(read(Options{})); !cmp.Equal(all, []uint32{1}) {
		t.Errorf("the collective depends on %v", all)
	}
	s, loss, err := Read(files(".et", data), Options{Options: trace.Options{Ranks: 4, Replicate: true}})
	if err != nil || s.Ranks() != 4 || sum(s, 3).bytes != 1800 || len(loss.Items()) != 1 {
		t.Errorf("one trace for four ranks: %v, lost %v", err, loss)
	}
}

// TestGroups: groups of a sidecar, and those that PyTorch defines in a node.
func TestGroups(t *testing.T) {
	dir := t.TempDir()
	sidecar := filepath.Join(dir, "groups.json")
	if err := os.WriteFile(sidecar, []byte(`{"0": [0, 1], "1": [2, 3]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	reduce := func(group string) message {
		return nd(5, typeColl).whole("comm_type", 0).whole("comm_size", 100).named("pg_name", group)
	}
	pair := func(s graph.Source) (peers []int32) {
		for rank := range 4 {
			each(s, rank, func(op *graph.Op) {
				if op.Kind == graph.Send && (len(peers) == 0 || peers[len(peers)-1] != op.Peer) {
					peers = append(peers, op.Peer)
				}
			})
		}
		return peers
	}
	low, high := et(reduce("0")), et(reduce("1"))
	s, _, err := Read(files(".et", low, low, high, high), Options{Groups: sidecar})
	if err != nil {
		t.Fatal(err)
	}
	if got := pair(s); !cmp.Equal(got, []int32{1, 0, 3, 2}) {
		t.Errorf("sidecar: peers %v", got)
	}

	embed := func(values string) message {
		return nd(1, typeMetadata).text(nodeName, "## process_group:init ##").bytes(nodeInputs, message{}.text(ioValues, values))
	}
	define := `['[{"pg_name": "0", "pg_desc": "default_pg", "ranks": [], "group_size": 4}, {"pg_name": "7", "ranks": [0, 2]}, {"pg_name": "8", "ranks": {"3": 1, "1": 0}}]']`
	escaped := `["` + strings.ReplaceAll(define[2:len(define)-2], `"`, `\"`) + `"]`
	for _, text := range []string{define, escaped} {
		even, odd := et(reduce("7"), embed(text)), et(reduce("8"), embed(text)) // the node may come behind
		s, loss, err := Read(files(".et", even, odd, even, odd), Options{})
		if err != nil || !loss.Empty() {
			t.Fatalf("%s: %v, lost %v", text, err, loss)
		}
		if got := pair(s); !cmp.Equal(got, []int32{2, 3, 0, 1}) {
			t.Errorf("%s: peers %v", text, got)
		}
	}
	cutOff := et(embed(define[:90]))
	if _, loss, err := Read(files(".et", cutOff), Options{}); err != nil || len(loss.Items()) != 1 || loss.Items()[0].What != "definitions of groups that are cut off" {
		t.Errorf("cut off: %v, lost %v", err, loss)
	}

	for _, c := range []struct{ groups, want string }{
		{`{"0": [0, 1]}`, `node 5 "n5": there is no group "1"`},
		{`{"0": [0, 1], "0": [2]}`, `groups.json:1:15: there are two groups "0"`},
		{`{"0": [0, 0]}`, `groups.json:1:2: group "0" has rank 0 twice`},
		{`{"0": []}`, `groups.json:1:2: group "0" has no ranks`},
		{`{"0": [-1]}`, `groups.json:1:8: rank is -1, want 0 to`},
		{`{"0": [1000000000]}`, `groups.json:1:2: group "0": rank 1000000000, want 0 to`},
		{`{"0": [0, 1], "1": [2, 9]}`, `group "1" has rank 9, of which there is no trace`},
		{`{"0": [0, 1], "1": [3]}`, `rank 2 is not in group "1"`},
		{`{"0": [0, 1]`, `groups.json:1:13: the file ends in an object`},
		{`{} {}`, `groups.json:1:4: an object follows the end`},
	} {
		if err := os.WriteFile(sidecar, []byte(c.groups), 0o644); err != nil {
			t.Fatal(err)
		}
		_, _, err := Read(files(".et", low, low, high, high), Options{Groups: sidecar})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.groups, err, c.want)
		}
	}
	if _, _, err := Read(files(".et", low, low), Options{Groups: filepath.Join(dir, "none.json")}); err == nil {
		t.Error("a missing file of groups is no error")
	}
	if _, loss, err := Read(files(".et", low, low), Options{Groups: "empty"}); err != nil || len(loss.Items()) != 1 {
		t.Errorf("empty groups: %v, lost %v", err, loss)
	}
}

// versioned returns a file whose metadata has a version of so many bytes.
func versioned(n int) string {
	metadata := message{}.text(metaVersion, strings.Repeat("7", n))
	return string(protowire.AppendBytes(protowire.AppendBytes(nil, metadata), nd(1, typeComp)))
}

// TestFirstBytes: protobuf is told from JSON, whatever the length of the first message.
func TestFirstBytes(t *testing.T) {
	for n := range 200 {
		if _, _, err := Read(files(".et", []byte(versioned(n))), Options{}); err != nil {
			t.Errorf("a version of %d bytes: %v", n, err)
		}
	}
}

// TestFeeder: a trace of the shape of tests/data/small_chakra.0.json of mlcommons/chakra is read: it is
// printed with indents, and a node is among its own control dependencies. With Ranks the file of
// one rank stands for all.
func TestFeeder(t *testing.T) {
	graphOf := func(data string) []byte {
		return []byte(`{
    "workload_graph": [
        {"Id": 216, "Name": "forward", "NodeType": 4, "is_cpu_op": true, "runtime": 5, "ctrlDeps": [], "data_deps": []},
        {
            "Id": 432,
            "Name": "nccl:all_reduce",
            "NodeType": 7,
            "is_cpu_op": true,
            "runtime": 0,
            "ctrlDeps": [432, 216],
            "data_deps": [` + data + `],
            "comm_type": 0,
            "comm_priority": 0,
            "comm_size": 8192,
            "involved_dims": [true]
        }
    ]
}
`)
	}
	for _, c := range []struct {
		dataOnly bool
		after    []uint32 // what the collective begins behind: 0 is the step, 1 the compute
		lost     string
	}{
		{false, []uint32{1}, "1 control dependencies of nodes on themselves, the first at t.0.json:4:9"},
		{true, []uint32{0}, ""},
	} {
		s, loss, err := Read(files(".json", graphOf("")), Options{Options: trace.Options{Ranks: 8}, DataOnly: c.dataOnly})
		if err != nil {
			t.Fatal(err)
		}
		if s.Ranks() != 8 || !strings.Contains(loss.String(), c.lost) || c.lost == "" && strings.Contains(loss.String(), "themselves") {
			t.Errorf("data only %v: %d ranks, lost %v, want %s", c.dataOnly, s.Ranks(), loss, c.lost)
		}
		for rank := range 8 {
			if got := sum(s, rank); got.bytes != 2*8192*7/8 || got.compute != 5*units.Microsecond {
				t.Errorf("data only %v, rank %d: %+v", c.dataOnly, rank, got)
			}
		}
		each(s, 3, func(op *graph.Op) {
			if op.Kind == graph.Begin && op.Tag.Collective != graph.None && !cmp.Equal(op.Deps, c.after) {
				t.Errorf("data only %v: the collective depends on %v, want %v", c.dataOnly, op.Deps, c.after)
			}
		})
	}
	if _, _, err := Read(files(".json", graphOf("432")), Options{DataOnly: true}); err == nil || !strings.Contains(err.Error(), "it depends on itself") {
		t.Errorf("a data dependency on itself: %v", err)
	}
	if _, loss, err := Read(files(".json", graphOf("")), Options{}); err != nil || !strings.Contains(loss.String(), "1 collectives of a single rank, which send nothing") {
		t.Errorf("one rank: lost %v, %v", loss, err)
	}
}

func TestIsTrace(t *testing.T) {
	long := protowire.AppendBytes(nil, message{}.bytes(metaAttr, bytes.Repeat([]byte("x"), 5000)))
	for _, c := range []struct {
		head string
		want bool
	}{
		{string(et(nd(1, 4))), true}, {string(long[:1000]), true},
		{`{"workload_graph": []}`, true}, {"{\n  \"version\": \"0.0.4\"\n}{", true}, {`{}{"name": "x", "type": "COMP_NODE"}`, true}, {`{"attr": [{"name":"schema"}]}{"type":"COMP_NODE"}`, true},
		{"{\n    \"workload_graph\": [", true}, {"{\r\n\t\"workload_graph\" : [", true}, {"\n\n{\"workload_graph\": [", true},
		{versioned(4), true}, {versioned(8), true}, {versioned(30), true}, {versioned(34), true}, {versioned(119), true}, {versioned(121), true}, // the length is a character of JSON
		{`{"schema": "1.0.2-chakra.0.0.4", "nodes": []}`, false}, {`{"a": 1}`, false}, {"Nodes 8\nConnections 1\n", false}, {"num_ranks 2\nrank 0 {\n", false}, {"", false}, {"\x1f\x8b\x08\x00", false}, {"MICRO\n1\n", false},
	} {
		if got := IsTrace([]byte(c.head)); got != c.want {
			t.Errorf("%.30q: got %v, want %v", c.head, got, c.want)
		}
	}
}
