package chakra

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

const (
	astra = "fixtures/astra-sim+astra-sim/examples/"
	ring  = astra + "system/custom_collectives/custom_ring_allreduce_8npus_1MB"
)

// sums is what a rank does.
type sums struct {
	sends, recvs  int
	bytes, got    units.Size
	compute       units.Duration
	computes, all int
}

// sum adds up the operations of a rank.
func sum(s graph.Source, rank int) (n sums) {
	each(s, rank, func(op *graph.Op) {
		n.all++
		switch op.Kind {
		case graph.Send:
			n.sends++
			n.bytes += op.Bytes
		case graph.Recv:
			n.recvs++
			n.got += op.Bytes
		case graph.Compute:
			n.computes++
			n.compute += op.Duration
		}
	})
	return n
}

func each(s graph.Source, rank int, do func(op *graph.Op)) {
	var op graph.Op
	for p := s.Program(rank, 0); p.Next(&op); {
		do(&op)
	}
}

// programs returns all operations as text.
func programs(s graph.Source) string {
	var b strings.Builder
	for rank := range s.Ranks() {
		fmt.Fprintf(&b, "rank %d\n", rank)
		each(s, rank, func(op *graph.Op) { fmt.Fprintf(&b, "%+v\n", *op) })
	}
	return b.String()
}

// nodeCounts reads a file of messages in the plainest way: how many nodes it has of each type, and
// the sum of their durations by type.
func nodeCounts(t *testing.T, data []byte) (count, duration map[uint64]uint64) {
	t.Helper()
	count, duration = map[uint64]uint64{}, map[uint64]uint64{}
	for first := true; len(data) > 0; first = false {
		message, n := protowire.ConsumeBytes(data)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		data = data[n:]
		var kind, micros uint64
		for len(message) > 0 {
			number, wire, n := protowire.ConsumeTag(message)
			size := protowire.ConsumeFieldValue(number, wire, message[n:])
			if size < 0 {
				t.Fatal(protowire.ParseError(size))
			}
			if v, _ := protowire.ConsumeVarint(message[n:]); number == 3 {
				kind = v
			} else if number == 7 {
				micros = v
			}
			message = message[n+size:]
		}
		if !first {
			count[kind]++
			duration[kind] += micros
		}
	}
	return count, duration
}

// TestRing replays the ring all-reduce of 1 MiB at 8 ranks of ASTRA-sim's examples: 14 messages of
// 131072 B at each rank, and every compute time.
func TestRing(t *testing.T) {
	dir := checkout.Shared(t, ring)
	s, loss, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s.Ranks() != 8 || !loss.Empty() {
		t.Errorf("%d ranks, lost:\n%s", s.Ranks(), loss)
	}
	if err := graph.Check(s, 0); err != nil {
		t.Error(err)
	}
	for rank := range 8 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("custom_allreduce.%d.et", rank)))
		if err != nil {
			t.Fatal(err)
		}
		count, duration := nodeCounts(t, data)
		want := sums{
			sends: 14, recvs: 14, bytes: 14 * 131072, got: 14 * 131072,
			computes: int(count[typeComp]), compute: units.Duration(duration[typeComp]) * units.Microsecond,
			all: 14 + 14 + int(count[typeComp]) + 2, // and the marks of the step
		}
		if got := sum(s, rank); got != want || want.compute == 0 {
			t.Errorf("rank %d: got %+v, want %+v", rank, got, want)
		}
	}
}

// TestMicrobenchmarks: the bytes of ASTRA-sim's collectives of 1 MiB at 4 ranks. Its all-gather
// takes the piece of a rank, the others the whole buffer.
func TestMicrobenchmarks(t *testing.T) {
	for kind, want := range map[string]units.Size{
		"all_reduce": 2 * 3 << 18, "reduce_scatter": 3 << 18, "all_to_all": 3 << 18, "all_gather": 3 << 20,
	} {
		dir := checkout.Shared(t, astra+"workload/microbenchmarks/"+kind+"/4npus_1MB")
		s, loss, err := Open(filepath.Join(dir, kind+".2.et"), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := graph.Check(s, 0); err != nil || !loss.Empty() {
			t.Errorf("%s: %v, lost %q", kind, err, loss)
		}
		for rank := range 4 {
			if got := sum(s, rank).bytes; got != want {
				t.Errorf("%s: rank %d sends %d B, want %d", kind, rank, got, want)
			}
		}
		if c := s.Labels().Collectives; len(c) != 1 || c[0].Kind != kind || c[0].Ranks != 4 {
			t.Errorf("%s: labels %v", kind, c)
		}
	}
}

// files returns files in memory, by rank.
func files(ending string, data ...[]byte) (list []tracefile.File) {
	for rank, content := range data {
		list = append(list, tracefile.File{Name: fmt.Sprintf("t.%d%s", rank, ending), Rank: rank, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(content)), nil
		}})
	}
	return list
}

// decode reads the nodes of a file of messages.
func decode(t *testing.T, data []byte) []node {
	t.Helper()
	m, texts := &messages{in: bufio.NewReader(bytes.NewReader(data))}, interner{}
	if _, _, err := m.next(); err != nil { // the metadata
		t.Fatal(err)
	}
	var nodes []node
	for {
		message, at, err := m.next()
		if err == io.EOF {
			return nodes
		}
		n := node{pos: at}
		if err == nil {
			err = decodeNode(message, &n, texts)
		}
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
}

// feeder returns nodes in the JSON form of Chakra's feeder.
func feeder(t *testing.T, nodes []node) []byte {
	t.Helper()
	var list []map[string]any
	for _, n := range nodes {
		m := map[string]any{"Id": n.id, "Name": n.name, "NodeType": n.kind, "runtime": n.duration, "is_cpu_op": n.onHost.value != 0}
		m["ctrlDeps"], m["data_deps"] = append([]uint64{}, n.control...), append([]uint64{}, n.data...)
		for name, a := range attributes(&n) {
			m[name] = a
		}
		if n.group != "" {
			m["pg_name"] = n.group
		}
		list = append(list, m)
	}
	data, err := json.Marshal(map[string]any{"workload_graph": list})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// indented returns JSON as Python's json.dump with indent=4 prints it.
func indented(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "    "); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// attributes returns the whole numbers that are set, but is_cpu_op.
func attributes(n *node) map[string]int64 {
	all := map[string]int64{}
	for name, a := range map[string]attribute{
		"comm_type": n.commType, "comm_size": n.commSize, "comm_src": n.src, "comm_dst": n.dst, "comm_tag": n.tag, "root": n.root,
	} {
		if a.set {
			all[name] = a.value
		}
	}
	return all
}

// jsonizer returns nodes as Chakra's jsonizer does: messages in protobuf's JSON, one after the
// other, without what is 0, and 64 bits in quotes.
func jsonizer(t *testing.T, nodes []node) []byte {
	t.Helper()
	quoted := func(ids []uint64) (list []string) {
		for _, id := range ids {
			list = append(list, fmt.Sprint(id))
		}
		return list
	}
	var b bytes.Buffer
	b.WriteString(`{"version": "0.0.4"}`)
	for _, n := range nodes {
		m := map[string]any{"name": n.name, "type": typeNames[n.kind]}
		if n.id != 0 {
			m["id"] = fmt.Sprint(n.id)
		}
		if n.duration != 0 {
			m["durationMicros"] = fmt.Sprint(n.duration)
		}
		if len(n.data) > 0 {
			m["dataDeps"] = quoted(n.data)
		}
		if len(n.control) > 0 {
			m["ctrlDeps"] = quoted(n.control)
		}
		if n.inputs != "" {
			m["inputs"] = map[string]any{"values": n.inputs}
		}
		list := []map[string]any{{"name": "is_cpu_op", "boolVal": n.onHost.value != 0}, {"name": "involved_dim", "boolList": map[string]any{"values": []bool{true, true}}}}
		for name, a := range attributes(&n) {
			list = append(list, map[string]any{"name": name, "int64Val": fmt.Sprint(a)})
		}
		if n.group != "" {
			list = append(list, map[string]any{"name": "pg_name", "stringVal": n.group, "docString": "the group"})
		}
		m["attr"] = list
		data, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		b.Write(data)
	}
	return b.Bytes()
}

func pack(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestForms: protobuf, both forms of JSON, and each of them packed, are the same programs.
func TestForms(t *testing.T) {
	for _, from := range []string{ring, astra + "workload/microbenchmarks/all_gather/4npus_1MB"} {
		dir := checkout.Shared(t, from)
		found, err := tracefile.Find(dir, Endings()...)
		if err != nil {
			t.Fatal(err)
		}
		forms := map[string][][]byte{}
		for _, f := range found {
			data, err := os.ReadFile(f.Name)
			if err != nil {
				t.Fatal(err)
			}
			nodes := decode(t, data)
			for form, data := range map[string][]byte{".et": data, ".json": feeder(t, nodes), "-pretty.json": indented(t, feeder(t, nodes)), "-lines.json": jsonizer(t, nodes)} {
				forms[form] = append(forms[form], data)
				forms[form+".gz"] = append(forms[form+".gz"], pack(t, data))
			}
		}
		s, _, err := Read(found, Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := programs(s)
		for form, data := range forms {
			got, loss, err := Read(files(form, data...), Options{})
			if err != nil || !loss.Empty() {
				t.Errorf("%s: %v, lost %v", form, err, loss)
				continue
			}
			if diff := cmp.Diff(want, programs(got)); diff != "" {
				t.Errorf("%s (-protobuf +it):\n%s", form, diff)
			}
			if len(data[0]) > math.MaxInt32 || !strings.HasSuffix(form, ".gz") && !IsTrace(data[0][:min(len(data[0]), 1000)]) {
				t.Errorf("%s does not look like a trace", form)
			}
		}
	}
}
