package wire

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// docs/reference/wire.md is the format's description: its tables must have the offsets of
// the code and leave no gap.
func TestDocumentedOffsets(t *testing.T) {
	tables := readTables(t, "../../docs/reference/wire.md")
	tests := []struct {
		table   string
		length  int
		offsets map[string]int
	}{
		{"Data", DataLen, map[string]int{
			"prologue": tpType, "payload length": tpAux, "PSN": tpPSN, "flow": tpFlow, "transmission": tpTransmission, "pull target": tpPullTarget}},
		{"Credit and credit request", ControlLen, map[string]int{"prologue": tpType, "quanta": tpPSN, "flow": tpFlow}},
		{"ACK", AckLen, map[string]int{
			"prologue": tpType, "EV": tpAux, "cumulative": tpPSN, "flow": tpFlow, "acked": tpAcked, "SACK base": tpSackBase,
			"SACK bitmap": tpSackBits, "received": tpReceived, "out of order": tpOutOfOrder, "penalty": tpPenalty,
			"hops (5 bits), echo length (3 bits)": tpAckEcho, "echo": tpAckEcho + 1, "host delay": tpHostDelay}},
		{"CNP", ControlLen, map[string]int{"prologue": tpType, "flow": tpFlow}},
		{"NACK", NackLen, map[string]int{
			"prologue": tpType, "EV": tpAux, "PSN": tpPSN, "flow": tpFlow, "transmission": tpTransmission,
			"code": tpNackCode, "echo length": tpNackEcho, "echo": tpNackEcho + 1, "locator": tpNackLocator}},
		{"Postcard", NackLen, map[string]int{"prologue": tpType, "switch": tpPSN, "flow": tpFlow, "echo length": tpNackEcho, "echo": tpNackEcho + 1}},
		{"Weights", WeightsLen, map[string]int{"prologue": tpType, "ports": tpAux, "rack": tpPSN, "switch": tpFlow, "sequence": tpSequence, "pairs": tpPairs}},
		{"Control", ControlLen, map[string]int{"prologue": tpType, "code": tpPSN, "trigger": tpFlow}},
		{"IPv4", IPv4Len, map[string]int{
			"DSCP (6 bits), ECN (2 bits)": ipTOS, "total length": ipTotalLen, "identification": ipIdent, "flags, fragment offset": ipFragment,
			"TTL": ipTTL, "protocol": ipProtocol, "header checksum": ipChecksum, "source": ipSource, "destination": ipDest}},
		{"UDP", UDPLen, map[string]int{"source port": 0, "destination port": 2, "length": 4, "checksum": 6}},
	}
	for _, tc := range tests {
		rows, end := tables[tc.table], 0
		for _, r := range rows {
			if r.offset != end {
				t.Errorf("%s: %q is documented at offset %d, the field before it ends at %d", tc.table, r.field, r.offset, end)
			}
			end = r.offset + r.width
			if want, ok := tc.offsets[r.field]; ok && r.offset != want {
				t.Errorf("%s: %q is documented at offset %d, the code has it at %d", tc.table, r.field, r.offset, want)
			}
			delete(tc.offsets, r.field)
		}
		if end != tc.length {
			t.Errorf("%s: documented length %d, want %d", tc.table, end, tc.length)
		}
		for field := range tc.offsets {
			t.Errorf("%s: %q is not documented", tc.table, field)
		}
	}
}

func TestDocumentedFlags(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, flag := range map[string]Flags{
		"AckRequest": AckRequest, "Retransmit": Retransmit, "EndOfMessage": EndOfMessage, "ECNEcho": ECNEcho, "RetransmitEcho": RetransmitEcho,
		"HostDelay": HostDelay,
	} {
		if row := fmt.Sprintf("| 0x%02x | %s |", uint8(flag), name); !strings.Contains(string(text), row) {
			t.Errorf("docs/reference/wire.md has no row %q", row)
		}
	}
}

type docRow struct {
	offset, width int
	field         string
}

// readTables returns the rows in whole bytes of the first table under each
// heading of a Markdown file.
func readTables(t *testing.T, file string) map[string][]docRow {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tables, heading, done := map[string][]docRow{}, "", false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "#"); ok {
			heading, done = strings.TrimSpace(strings.TrimLeft(name, "#")), false
		}
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			done = done || len(tables[heading]) > 0
			continue
		}
		offset, err1 := strconv.Atoi(strings.TrimSpace(cells[1]))
		width, err2 := strconv.Atoi(strings.TrimSpace(cells[2]))
		if err1 == nil && err2 == nil && !done {
			tables[heading] = append(tables[heading], docRow{offset, width, strings.TrimSpace(cells[3])})
		}
	}
	return tables
}
