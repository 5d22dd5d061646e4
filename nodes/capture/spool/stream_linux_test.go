package spool_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/capture/spool"
	"github.com/csiglab/csiglab/units"
)

// join returns both ends of a pipe for port 3 of node 7.
func join(t *testing.T) (*spool.Stream, *spool.Source) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "with [brackets]")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	in, err := spool.Listen(folder, 7, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	for _, other := range []int{0, 70} {
		if got := spool.Answer(folder, other, spool.Hello{}); len(got) > 0 {
			t.Fatalf("node %d answers at the pipe of node 7", other)
		}
	}
	out := spool.Answer(folder, 7, spool.Hello{About: "variant x"})
	if len(out) != 1 || out[0].Port != 3 {
		t.Fatalf("node 7 has the streams %v, want one for port 3", out)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("the pipe's name is still there: %v", left)
	}
	if hello, err := in.Hello(time.Second); err != nil || hello.About != "variant x" {
		t.Fatalf("greeting %+v, %v", hello, err)
	}
	return out[0], in
}

func TestStream(t *testing.T) {
	out, in := join(t)
	for i := range 3 {
		out.Write(&spool.Record{At: units.Time(i), Frame: []byte{byte(i)}, Length: 1})
	}
	if !out.Flush() {
		t.Error("nobody listens")
	}
	for i := range 3 {
		r, err := in.Read()
		if err != nil || r.At != units.Time(i) || r.Frame[0] != byte(i) || r.Missed != 0 {
			t.Errorf("record %d is %+v, %v", i, r, err)
		}
	}
	out.Close()
	if _, err := in.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v, want %v", err, io.EOF)
	}
}

// A reader that does not read costs the node a bounded memory and no time, and
// learns how much it has missed.
func TestStreamSlowReader(t *testing.T) {
	out, in := join(t)
	const sent = 3000
	r := &spool.Record{Frame: bytes.Repeat([]byte{1}, 4096), Length: 4096}
	write := func(i int) {
		r.At = units.Time(i)
		out.Write(r)
		out.Flush()
	}
	for i := range sent {
		write(i)
	}
	read, missed := 0, int64(0)
	take := func(n int) {
		for range n {
			got, err := in.Read()
			if err != nil {
				t.Fatal(err)
			}
			if want := units.Time(int64(read) + missed + got.Missed); got.At != want {
				t.Fatalf("record %v, want %v: %d were read, %d and %d missed", got.At, want, read, missed, got.Missed)
			}
			read, missed = read+1, missed+got.Missed
			out.Flush()
		}
	}
	take(1000)
	write(sent) // there is room again
	for int64(read)+missed < sent+1 {
		take(1)
	}
	if missed == 0 || read < 1000 {
		t.Errorf("of %d records %d were read and %d missed, want some missed", sent+1, read, missed)
	}
}

func TestStreamReaderLeaves(t *testing.T) {
	out, in := join(t)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	out.Write(&spool.Record{})
	if out.Flush() {
		t.Error("the node does not see that the reader has left")
	}
	out.Write(&spool.Record{})
	out.Close()
}

func TestListenAlone(t *testing.T) {
	folder := t.TempDir()
	in, err := spool.Listen(folder, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Hello(20 * time.Millisecond); !errors.Is(err, spool.ErrSilent) {
		t.Errorf("got %v, want %v", err, spool.ErrSilent)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	// One that was killed leaves a pipe at which nobody listens.
	if _, err := spool.Listen(folder, 1, 0); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(folder, ".livestock")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spool.RemovePipes(folder)
	if left, _ := os.ReadDir(folder); len(left) != 1 || left[0].Name() != ".livestock" {
		t.Errorf("left %v, want the file that is no pipe alone", left)
	}
	if _, err := spool.Listen(filepath.Join(folder, "gone"), 1, 0); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}
