package tracefile

import (
	"archive/tar"
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
		"nets/resnet_1gpu_et.et", "nets/resnet_2gpu_et.et", "nets/rank4_of8gpus.et",
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
		{"nets/resnet_2gpu_et.et", []string{"-1 nets/resnet_2gpu_et.et"}, ""}, // a number of GPUs is no rank
		{"nets/rank4_of8gpus.et", []string{"4 nets/rank4_of8gpus.et"}, ""},
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

// TestArchive: an archive is as a folder of what it holds, whatever folders that is in.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, members ...string) string {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, m := range members {
			h := &tar.Header{Name: m, Mode: 0o644, Size: int64(len(m))}
			if strings.HasSuffix(m, "/") {
				h.Typeflag, h.Size = tar.TypeDir, 0
			}
			if err := w.WriteHeader(h); err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(w, m[:h.Size]); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data := b.Bytes()
		if !strings.HasSuffix(name, ".tar") {
			data = pack(t, data)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		path, want string // rank and content of each file, or the error
	}{
		{write("a.tgz", "job/", "job/a.10.et", "./job/a.2.et", "job/._a.2.et", "groups.json"), "2 ./job/a.2.et, 10 job/a.10.et"},
		{write("a.tar.gz", "a.1.et", "a.0.et.gz"), "0 a.0.et.gz, 1 a.1.et"},
		{write("a.tar", "a.1.et"), "1 a.1.et"},
		{write("one.tar", "x/only.et", "README"), "-1 x/only.et"},
		{write("two.tar", "x/a.0.et", "y/a.0.et"), "two.tar: files of several traces, such as x/a.0.et and y/a.0.et; name one of them"},
		{filepath.Join(dir, "two.tar/y"), "0 y/a.0.et"},
		{filepath.Join(dir, "two.tar/x/a.0.et"), "0 x/a.0.et"},
		{filepath.Join(dir, "two.tar/z"), "no file <name>.<rank>.et"},
		{filepath.Join(dir, "a.tgz/job/a.2.et"), "2 ./job/a.2.et, 10 job/a.10.et"},
		{filepath.Join(dir, "one.tar/x/only.et"), "-1 x/only.et"},
		{write("alone.tar", "x/one.et", "x/two.et"), "such as x/one.et and x/two.et"},
		{write("none.tgz", "README"), "no file <name>.<rank>.et"},
		{filepath.Join(dir, "nowhere.tgz"), "no such file"},
	} {
		files, err := Find(c.path, ".et")
		var list []string
		for _, f := range files {
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(f.Rank, " ", string(data)))
		}
		if got := strings.Join(list, ", "); got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %s, %v; want %s", c.path, got, err, c.want)
		}
	}
	whole, err := os.ReadFile(filepath.Join(dir, "a.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.tgz")
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(cut, ".et"); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("half an archive: %v", err)
	}
	if _, err := unpackArchive(filepath.Join(dir, "a.tar"), 100); err == nil || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("an archive above its bound: %v", err)
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
