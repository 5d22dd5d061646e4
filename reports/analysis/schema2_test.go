package analysis

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/analysis/analysistest"
)

// Rows of the tables of schema 2, as the csiglab that wrote them had them.
type (
	oldPort struct {
		Variant     string  `parquet:"variant,dict"`
		Seed        uint64  `parquet:"seed"`
		Node        int32   `parquet:"node"`
		NodeName    string  `parquet:"node_name,dict"`
		Port        int32   `parquet:"port"`
		StartUS     float64 `parquet:"start_us"`
		TxPackets   int64   `parquet:"tx_packets"`
		TxBytes     int64   `parquet:"tx_bytes"`
		Marked      int64   `parquet:"marked"`
		Trimmed     int64   `parquet:"trimmed"`
		Dropped     int64   `parquet:"dropped"`
		QueueMax    int64   `parquet:"queue_max_bytes"`
		QueueByteNS int64   `parquet:"queue_byte_ns"`
	}
	oldFlow struct {
		Variant      string  `parquet:"variant,dict"`
		Seed         uint64  `parquet:"seed"`
		Flow         int32   `parquet:"flow"`
		FlowName     string  `parquet:"flow_name,dict"`
		StartUS      float64 `parquet:"start_us"`
		Packets      int64   `parquet:"packets"`
		WireBytes    int64   `parquet:"wire_bytes"`
		PayloadBytes int64   `parquet:"payload_bytes"`
	}
	oldCC struct {
		Variant    string           `parquet:"variant,dict"`
		Seed       uint64           `parquet:"seed"`
		Flow       int32            `parquet:"flow"`
		FlowName   string           `parquet:"flow_name,dict"`
		StartUS    float64          `parquet:"start_us"`
		Acks       int64            `parquet:"acks"`
		DelaySumUS float64          `parquet:"delay_sum_us"`
		Actions    map[string]int64 `parquet:"actions" parquet-key:",dict"`
		Cwnd       int64            `parquet:"cwnd_bytes"`
		BaseRTTUS  float64          `parquet:"base_rtt_us"`
	}
	oldSignal struct {
		Variant  string  `parquet:"variant,dict"`
		Seed     uint64  `parquet:"seed"`
		Flow     int32   `parquet:"flow"`
		FlowName string  `parquet:"flow_name,dict"`
		Type     int32   `parquet:"type"`
		Locator  int32   `parquet:"locator"`
		StartUS  float64 `parquet:"start_us"`
		Samples  int64   `parquet:"samples"`
		PointSum int64   `parquet:"point_sum"`
		PointMax int64   `parquet:"point_max"`
		PointMin int64   `parquet:"point_min"`
	}
	oldPhase struct {
		Variant          string   `parquet:"variant,dict"`
		Seed             uint64   `parquet:"seed"`
		Job              int32    `parquet:"job"`
		Flow             int32    `parquet:"flow"`
		FlowName         string   `parquet:"flow_name,dict"`
		StartUS          *float64 `parquet:"start_us"`
		SenderDoneUS     *float64 `parquet:"sender_done_us"`
		ReceiverDoneUS   *float64 `parquet:"receiver_done_us"`
		NewPackets       int64    `parquet:"new_packets"`
		Retransmitted    int64    `parquet:"retransmitted"`
		AcksReceived     int64    `parquet:"acks_received"`
		NacksReceived    int64    `parquet:"nacks_received"`
		Timeouts         int64    `parquet:"timeouts"`
		Samples          int64    `parquet:"samples"`
		FreshSamples     int64    `parquet:"samples_fresh"`
		Untouched        int64    `parquet:"samples_untouched"`
		DeliveredWhole   int64    `parquet:"delivered_whole"`
		Duplicates       int64    `parquet:"duplicates"`
		DeliveredTrimmed int64    `parquet:"delivered_trimmed"`
		PayloadBytes     int64    `parquet:"payload_bytes"`
		BaseRTTUS        float64  `parquet:"base_rtt_us"`
		Cwnd             int64    `parquet:"cwnd_bytes"`
	}
)

// older writes a table with the columns that rows of type Old have, which are a part of
// those of type Row.
func older[Row, Old any](t *testing.T, dir, table string) {
	t.Helper()
	path := filepath.Join(dir, table+".parquet")
	rows, err := parquet.ReadFile[Old](path) // takes the columns that it knows
	if err != nil {
		t.Fatal(err)
	}
	if all, err := parquet.ReadFile[Row](path); err != nil || len(all) != len(rows) {
		t.Fatalf("%s: %d rows, %d of them old: %v", table, len(all), len(rows), err)
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
}

// csiglab report works on last month's folder: one of schema 2 has the same results as
// one of schema 3, but for what only the new one has.
func TestFolderOfSchema2(t *testing.T) {
	checkout.SkipSlowRace(t)
	f := analysistest.ThreeFlow().Folder(t, nil)
	want := numbers(t, f)
	path := filepath.Join(f.Dir, runfolder.ManifestFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	m["schema"] = 2
	for _, key := range []string{"signals", "files", "digest"} { // digests are optional in schema 2
		delete(m, key)
	}
	for _, p := range m["ports"].([]any) {
		for _, key := range []string{"name", "tier", "direction"} {
			delete(p.(map[string]any), key)
		}
	}
	if text, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	older[runfolder.PortRow, oldPort](t, f.Dir, "ports")
	older[runfolder.FlowRow, oldFlow](t, f.Dir, "flows")
	older[runfolder.CCRow, oldCC](t, f.Dir, "cc")
	older[runfolder.PhaseRow, oldPhase](t, f.Dir, "phases")
	if err := parquet.WriteFile(filepath.Join(f.Dir, "signals.parquet"), []oldSignal(nil)); err != nil {
		t.Fatal(err)
	}
	old, err := runfolder.Open(f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(numbers(t, old), want, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("the folder of schema 2 (-got +want):\n%s", diff)
	}
}
