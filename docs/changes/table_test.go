package changes_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// newTable has the records of testdata/rest, and what emits them.
var newTable = addition{
	edits: map[string][]edit{
		"nodes/switch/dataplane/records.go": {
			{"\t\tp := &s.ports[i]\n", "\t\ts.sink.Emit(&metrics.Rest{Node: int32(s.cfg.Node), Port: int32(i), At: end, Bytes: int64(p.buffer.Bytes())})\n"},
		},
	},
	added: map[string]string{"metrics/rest.go": "testdata/rest/rest.go"},
}

// A table of records costs two files: the type of the records, and the machine that emits them.
// With these, and no other, a run folder has a table more, with a row for each port of each
// switch.
func TestANewTableCostsTwoFiles(t *testing.T) {
	program, folder := withAdditions(t), filepath.Join(t.TempDir(), "run")
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
