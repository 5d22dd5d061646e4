package campaign

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/orchestrator/run/measure"
	"github.com/csiglab/csiglab/orchestrator/run/packets"
	"github.com/csiglab/csiglab/workloads/chakra"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/tracefile"
)

// given is a kind of job whose programs the test has made.
type given struct{ source graph.Source }

// Check implements experiment.JobSpec.
func (given) Check(*experiment.Check) {}

// Ranks implements experiment.JobSpec.
func (g given) Ranks(_, _ int) (int, error) { return g.source.Ranks(), nil }

// Build implements experiment.JobSpec.
func (g given) Build(experiment.JobInput) (graph.Source, error) { return g.source, nil }

// listener hears the operations of a run.
type listener struct{ operations []metrics.Operation }

// Consume implements metrics.Consumer.
func (l *listener) Consume(b *metrics.Batch) { l.operations = append(l.operations, b.Operations...) }

// Err implements measure.Writer.
func (*listener) Err() error { return nil }

// playOnFabric runs a source of 8 ranks on a leaf-spine fabric, and returns its operations and the
// trace hash.
func playOnFabric(t *testing.T, s graph.Source) ([]metrics.Operation, [32]byte) {
	t.Helper()
	e := parseText(t, `
schema: 1
name: chakra
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 500ns}}
jobs: [{name: ring, collective: all_reduce}]
csig: {format: wide}
`).Variants[0].Experiment
	e.Jobs[0].Spec = given{s}
	p, err := plan.Compile(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	var heard listener
	records := measure.NewRecords(p, &heard)
	if _, err := packets.Virtual(t.Context(), &backend.Run{Plan: p}, nil, records, nil); err != nil {
		t.Fatal(err)
	}
	return heard.operations, measure.TraceHash(records.Nodes())
}

// workloadGraph returns a file of messages in the JSON form of Chakra's feeder. It reads what the
// public ring has: numbers, and attributes of int32 and int64.
func workloadGraph(t *testing.T, data []byte) []byte {
	t.Helper()
	fields := func(message []byte, do func(number protowire.Number, v uint64, data []byte)) {
		for len(message) > 0 {
			number, kind, n := protowire.ConsumeTag(message)
			size := protowire.ConsumeFieldValue(number, kind, message[n:])
			if size < 0 {
				t.Fatal(protowire.ParseError(size))
			}
			v, _ := protowire.ConsumeVarint(message[n:])
			text, _ := protowire.ConsumeBytes(message[n:])
			do(number, v, text)
			message = message[n+size:]
		}
	}
	var nodes []map[string]any
	for first := true; len(data) > 0; first = false {
		message, n := protowire.ConsumeBytes(data)
		if data = data[n:]; first {
			continue // the metadata
		}
		node := map[string]any{"Id": 0, "data_deps": []uint64{}, "ctrlDeps": []uint64{}, "is_cpu_op": false}
		fields(message, func(number protowire.Number, v uint64, text []byte) {
			switch number {
			case 1:
				node["Id"] = v
			case 2:
				node["Name"] = string(text)
			case 3:
				node["NodeType"] = v
			case 5:
				var deps []uint64
				for len(text) > 0 {
					d, n := protowire.ConsumeVarint(text)
					deps, text = append(deps, d), text[n:]
				}
				node["data_deps"] = deps
			case 7:
				node["runtime"] = v
			case 10:
				var name string
				fields(text, func(number protowire.Number, v uint64, text []byte) {
					if number == 1 {
						name = string(text)
					} else {
						node[name] = v
					}
				})
			}
		})
		nodes = append(nodes, node)
	}
	text, err := json.Marshal(map[string]any{"workload_graph": nodes})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestChakraRing plays the public ring all-reduce of 8 ranks on a fabric: each rank sends 14 messages of
// 131072 B. The protobuf and the JSON form of the trace give the same trace hash.
func TestChakraRing(t *testing.T) {
	dir := checkout.Shared(t, "fixtures/astra-sim+astra-sim/examples/system/custom_collectives/custom_ring_allreduce_8npus_1MB")
	s, loss, err := chakra.Open(dir, chakra.Options{})
	if err != nil || !loss.Empty() {
		t.Fatalf("%v, lost %v", err, loss)
	}
	operations, hash := playOnFabric(t, s)
	var sends, recvs [8]int
	for _, o := range operations {
		switch o.Kind {
		case metrics.OperationSend:
			sends[o.Rank]++
		case metrics.OperationRecv:
			recvs[o.Rank]++
		default:
			continue
		}
		if o.Bytes != 131072 {
			t.Errorf("%+v, want a message of 131072 B", o)
		}
	}
	if want := [8]int{14, 14, 14, 14, 14, 14, 14, 14}; sends != want || recvs != want {
		t.Errorf("%v messages are sent by ranks and %v received, want 14", sends, recvs)
	}

	var list []tracefile.File
	for rank := range 8 {
		data, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("custom_allreduce.%d.et", rank)))
		if err != nil {
			t.Fatal(err)
		}
		text := workloadGraph(t, data)
		list = append(list, tracefile.File{Name: fmt.Sprintf("ring.%d.json", rank), Rank: rank, Open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		}})
	}
	again, loss, err := chakra.Read(list, chakra.Options{})
	if err != nil || !loss.Empty() {
		t.Fatalf("%v, lost %v", err, loss)
	}
	if _, got := playOnFabric(t, again); got != hash || hash == [32]byte{} {
		t.Errorf("the trace hash of the JSON form is %x, of protobuf %x", got, hash)
	}
}
