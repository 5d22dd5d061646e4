// Package capturetest lets tests read captures with tshark and csiglab's
// dissector.
package capturetest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/csiglab/csiglab/nodes/capture"
	"github.com/csiglab/csiglab/units"
)

// Packet is a packet of a capture.
type Packet struct {
	Port   string     // name of the interface
	At     units.Time // whole nanoseconds
	Data   []byte     // what was captured; valid until the next packet
	Length int        // of the whole frame
}

// Read reads a capture without tshark, by gopacket.
func Read(t testing.TB, in io.Reader, each func(Packet)) {
	t.Helper()
	r, err := pcapgo.NewNgReader(in, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		port, err := r.Interface(info.InterfaceIndex)
		if err != nil {
			t.Fatal(err)
		}
		each(Packet{port.Name, units.Time(info.Timestamp.UnixNano()) * units.Time(units.Nanosecond), data, info.Length})
	}
}

// ReadFile is Read of a file.
func ReadFile(t testing.TB, name string, each func(Packet)) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	Read(t, in, each)
}

// Malformed is a display filter for frames that tshark cannot read in whole: the
// pseudo protocol, experts of the group Malformed, and errors in the dissector.
const Malformed = `_ws.malformed || _ws.expert.group == "Malformed" || _ws.lua.error`

// Tshark returns the named fields of each frame of a file, the values of one
// field joined by commas. Options, such as a filter, go before the fields. The
// test is skipped where tshark is not installed.
func Tshark(t *testing.T, file string, options []string, fields ...string) [][]string {
	t.Helper()
	program, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	script := filepath.Join(t.TempDir(), "csig.lua")
	if err := os.WriteFile(script, []byte(capture.Dissector), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-X", "lua_script:" + script, "-r", file}, options...)
	args = append(args, "-T", "fields", "-E", "separator=\t")
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "LC_ALL=C")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || strings.Contains(stderr.String(), "Lua") {
		t.Fatalf("tshark %q: %v: %s", args, err, stderr.String())
	}
	var rows [][]string
	for line := range strings.Lines(stdout.String()) {
		rows = append(rows, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return rows
}
