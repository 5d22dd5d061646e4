package runfolder

import (
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/metrics"
)

// A batch of a part holds what was written, and nothing of the batches before it, whose
// memory it has.
func TestReadPart(t *testing.T) {
	written := []metrics.Batch{
		{Node: 7, Ports: []metrics.PortWindow{{Node: 7, Port: 3, Start: 100, TxPackets: 5, QueueMax: 9}, {Node: 7, TxPackets: 1}}},
		{Node: 7, CC: []metrics.CCWindow{{Flow: 4, Acks: 2, Cwnd: 10, Actions: []metrics.Count{{Name: "grow", Packets: 2}, {Name: "cut", Packets: 1}}}}},
		{Ports: []metrics.PortWindow{{Port: 1}}, CC: []metrics.CCWindow{{Acks: 1, Actions: []metrics.Count{{Name: "hold"}}}, {Acks: 3}}},
		{Node: 2, Flows: []metrics.FlowWindow{{Flow: 1, Packets: 8}}, Events: []metrics.Event{{Flow: 1, Again: true, Action: "cut"}}},
		{Flows: []metrics.FlowWindow{{Start: 5}, {Flow: 2}}, Events: []metrics.Event{{At: 1}}},
	}
	name := filepath.Join(t.TempDir(), "part")
	p := newPartWriter(func() (*os.File, error) { return os.Create(name) })
	for i := range written {
		if err := p.windows(&written[i]); err != nil {
			t.Fatal(err)
		}
	}
	totals := metrics.NodeTotals{Node: 1, Name: "tor0"}
	if err := p.end(&Run{Variant: "base"}, nil, nil, []metrics.NodeTotals{totals}); err != nil {
		t.Fatal(err)
	}
	file := must(os.Open(name))(t)
	defer file.Close() // opened for reading
	var read []metrics.Batch
	f, nodes, err := readPart(file, func([]Flow) {}, func(b *metrics.Batch) error {
		var c metrics.Batch
		b.Each(&c)
		c.Node = b.Node
		read = append(read, c)
		return nil
	})
	if err != nil || f.Run.Variant != "base" || len(nodes) != 1 || nodes[0].Name != "tor0" {
		t.Errorf("run %+v, nodes %+v: %v", f.Run, nodes, err)
	}
	if diff := gocmp.Diff(read, written); diff != "" {
		t.Errorf("batches (-got +want):\n%s", diff)
	}
}
