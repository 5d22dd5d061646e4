package changes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// newTable has the changes, by file, that add a table of records.
var newTable = map[string][]edit{
	"metrics/records.go": {
		{"\tTraces  []Trace\n", "\tRests   []Rest\n"},
		{"// Emit appends a copy of the record.\n", "func (r *Rest) appendTo(b *Batch) { b.Rests = append(b.Rests, *r) }\n\n"},
		{"\teach(b.Traces, to)\n", "\teach(b.Rests, to)\n"},
		{"return len(b.Ports)", " + len(b.Rests)"},
		{"Node: b.Node, ", "Rests: b.Rests[:0], "},
		{"\t\"github.com/csiglab/csiglab/units\"\n)\n", "\n// Rest is what a switch port had in its queue at the end of the run.\ntype Rest struct {\n\tNode, Port int32\n\tAt units.Time\n\tBytes int64\n}\n"},
	},
	"metrics/runfolder/rows.go": {
		{"var recordTables = []recordTable{\n", `	tableOf[RestRow]{"rests", func(b *metrics.Batch, add func(RestRow), n *names) {
		for i := range b.Rests {
			r := &b.Rests[i]
			add(RestRow{n.variant, n.seed, n.node(r.Node), r.Port, us(r.At), r.Bytes})
		}
	}},
`},
		{"\ttableInstances  = \"instances\"\n)\n", `
// RestRow is a row of rests.parquet: a metrics.Rest.
type RestRow struct {
	Variant  string  ` + "`parquet:\"variant,dict\"`" + `
	Seed     uint64  ` + "`parquet:\"seed\"`" + `
	NodeName string  ` + "`parquet:\"node_name,dict\"`" + `
	Port     int32   ` + "`parquet:\"port\"`" + `
	AtUS     float64 ` + "`parquet:\"at_us\"`" + `
	Bytes    int64   ` + "`parquet:\"bytes\"`" + `
}
`},
	},
	"nodes/switch/dataplane/result.go": {
		{"\t\tp := &s.ports[i]\n", "\t\ts.sink.Emit(&metrics.Rest{Node: int32(s.cfg.Node), Port: int32(i), At: end, Bytes: int64(p.buffer.Bytes())})\n"},
	},
}

// "a table of records 3" (issue 7): with the changes of newTable, and no other, a run
// folder has a table more, with a row for each port of each switch.
func TestANewTableCostsThreeFiles(t *testing.T) {
	if len(newTable) != 3 {
		t.Errorf("%d files are changed, want 3", len(newTable))
	}
	program, folder := buildWith(t, newTable, nil), filepath.Join(t.TempDir(), "run")
	if out, err := exec.Command(program, "run", "one", "--seeds", "1", "--out", folder).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Nodes []struct {
			Node int
			Kind string
		}
		Ports  []struct{ Node int }
		Tables map[string]int64
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		t.Fatal(err)
	}
	var ports int64
	for _, p := range m.Ports {
		if m.Nodes[p.Node].Kind == "switch" {
			ports++
		}
	}
	if ports == 0 || m.Tables["rests"] != ports {
		t.Errorf("the table has %d rows, %d ports of switches; tables %v", m.Tables["rests"], ports, m.Tables)
	}
	if _, err := os.Stat(filepath.Join(folder, "rests.parquet")); err != nil {
		t.Error(err)
	}
}
