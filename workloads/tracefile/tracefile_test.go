package tracefile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{
		"ring/job_8npus.10.et", "ring/job_8npus.2.et", "ring/job_8npus.0.et.gz", "ring/groups.json",
		"two/a.0.et", "two/a.1.et", "two/a.b.0.et", "two/alone.et", "two/1.0.2.json", "twice/a.0.et", "twice/a.0.et.gz", "empty/x.txt",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ring := []string{"0 ring/job_8npus.0.et.gz", "2 ring/job_8npus.2.et", "10 ring/job_8npus.10.et"}
	for _, c := range []struct {
		path string
		want []string
		err  string
	}{
		{"ring", ring, ""},
		{"ring/", ring, ""},
		{"ring/job_8npus", ring, ""},
		{"ring/job", ring, ""},
		{"ring/job_8npus.2.et", ring, ""},
		{"two/a", []string{"0 two/a.0.et", "1 two/a.1.et"}, ""},
		{"two/a.b", []string{"0 two/a.b.0.et"}, ""},
		{"two/alone.et", []string{"-1 two/alone.et"}, ""},
		{"two/1.0.2.json", []string{"-1 two/1.0.2.json"}, ""},
		{"two", nil, "files of several traces, such as a.0.et and a.b.0.et"},
		{"twice", nil, "are both of rank 0"},
		{"empty", nil, "no file <name>.<rank>.et"},
		{"ring/nothing", nil, "no such file"},
		{"nowhere/x", nil, "no such file"},
	} {
		files, err := Find(dir+"/"+c.path, ".et")
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want %s", c.path, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
		}
		var got []string
		for _, f := range files {
			name, err := filepath.Rel(dir, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%d %s", f.Rank, name))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.path, diff)
		}
	}
	t.Chdir(filepath.Join(dir, "ring"))
	if files, err := Find("job_8npus", ".et"); len(files) != 3 || err != nil {
		t.Errorf("in the folder: %v, %v", files, err)
	}
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

// TestUnpack: gzip shows in the first bytes, and the budget counts what it unpacks to.
func TestUnpack(t *testing.T) {
	plain := bytes.Repeat([]byte("x"), 1000)
	for _, data := range [][]byte{plain, pack(t, plain)} {
		for _, c := range []struct {
			most int64
			err  string
		}{{1000, ""}, {1001, ""}, {999, "more than 999 bytes"}, {0, ""}} {
			r, err := Unpack(bytes.NewReader(data), NewBudget(c.most))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if c.err == "" && (err != nil || !bytes.Equal(got, plain)) {
				t.Errorf("%d bytes, at most %d: got %d bytes, %v", len(data), c.most, len(got), err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%d bytes, at most %d: got %v, want %s", len(data), c.most, err, c.err)
			}
		}
	}
	damaged := pack(t, plain)
	damaged[len(damaged)-5] ^= 1 // in the checksum
	r, err := Unpack(bytes.NewReader(damaged), NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil {
		t.Error("a wrong checksum is no error")
	}
	r, err = Unpack(bytes.NewReader(damaged[:len(damaged)-12]), NewBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a file that is cut off: %v", err)
	}
	if _, err := Unpack(strings.NewReader("\x1f\x8b"), NewBudget(0)); err == nil {
		t.Error("half of a gzip header is no error")
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		pos  int64
		want string
	}{{0, "f: byte 0"}, {1 << 40, "f: byte 1099511627776"}, {At(1, 1), "f:1:1"}, {At(70000, 1<<30), "f:70000:1073741824"}, {At(1<<40, 1), "f:2147483647:1"}} {
		if got := Place("f", c.pos); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
