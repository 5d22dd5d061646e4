package runfolder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// readAll opens a folder and reads everything in it that has a digest.
func readAll(dir string) error {
	f, err := Open(dir)
	if err != nil {
		return err
	}
	_, err1 := f.Experiment()
	_, err2 := collect(f.Ports())
	_, err3 := collect(f.Flows())
	_, err4 := collect(f.Signals())
	_, err5 := collect(f.CC())
	_, err6 := collect(f.Phases())
	return errors.Join(err1, err2, err3, err4, err5, err6)
}

// One flipped bit anywhere in the files of a complete folder ends in an error that names
// the file: without digests, a bit in a number gives another report.
func TestFlippedBits(t *testing.T) {
	checkout.SkipSlowRace(t)
	dir := finished(t)
	if err := readAll(dir); err != nil {
		t.Fatal(err)
	}
	names := []string{ManifestFile, SummaryFile, ExperimentFile, LogFile, "ports.parquet", "flows.parquet", "signals.parquet", "cc.parquet", "phases.parquet"}
	tried := 0
	for _, name := range names {
		path := filepath.Join(dir, name)
		whole := must(os.ReadFile(path))(t)
		for i := 0; i < len(whole); i += max(1, len(whole)/30) {
			b := append([]byte(nil), whole...)
			b[i] ^= 1 << (i % 8)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			tried++
			// A bit of the schema's number or key makes it another program's file.
			if err := readAll(dir); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s, byte %d: %q for %q: got %v, want an error that names the file", name, i, b[i], whole[i], err)
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := readAll(dir); err != nil || tried < 200 {
		t.Errorf("%d bits tried, and the whole folder gives %v; want 200 and nil", tried, err)
	}
}

// One flipped bit in a table is found when the folder is opened, also by those who do not
// read the table.
func TestFlippedBitsOfTables(t *testing.T) {
	checkout.SkipSlowRace(t)
	dir := finished(t)
	for _, l := range layouts() {
		name := tableFileName(l.name)
		path := filepath.Join(dir, name)
		whole := must(os.ReadFile(path))(t)
		for i := range 60 {
			b, at := append([]byte(nil), whole...), i*len(whole)/60
			b[at] ^= 1 << (i % 8)
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, open := range []func(string) (*Folder, error){Open, OpenKept} {
				if _, err := open(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name) {
					t.Fatalf("%s, byte %d: got %v, want an error that names the file", name, at, err)
				}
			}
			if _, err := OpenUnchecked(dir); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(Open(dir))(t)
}

// Folders of older csiglabs are refused, also those whose schema has the number of this one.
func TestOlderFolders(t *testing.T) {
	for _, c := range []struct {
		change func(m map[string]any)
		want   string
	}{
		{func(m map[string]any) { m["schema"] = 2 }, "manifest.json has schema 2, and this csiglab reads schema 3; it is of an older csiglab; run its experiment again"},
		{func(m map[string]any) { delete(m, "files"); delete(m, "digest") }, "manifest.json has schema 3, but not the digests that this csiglab reads; it is of an older csiglab; run its experiment again"},
		{func(m map[string]any) { delete(m["tables"].(map[string]any), tableOperations) }, "manifest.json has schema 3, but not the table operations that this csiglab reads; it is of an older csiglab; run its experiment again"},
	} {
		dir := finished(t)
		path := filepath.Join(dir, ManifestFile)
		var m map[string]any
		if err := json.Unmarshal(must(os.ReadFile(path))(t), &m); err != nil {
			t.Fatal(err)
		}
		c.change(m)
		if err := os.WriteFile(path, must(json.Marshal(m))(t), 0o644); err != nil {
			t.Fatal(err)
		}
		want := "open run folder " + dir + ": " + c.want
		if _, err := Open(dir); !errors.Is(err, ErrForeign) || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// A folder of which one half of the digests is gone is damaged.
func TestHalfTheDigests(t *testing.T) {
	for _, key := range []string{"files", "digest"} {
		dir := finished(t)
		path := filepath.Join(dir, ManifestFile)
		text := strings.Replace(string(must(os.ReadFile(path))(t)), `"`+key+`":`, `"other":`, 1)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := readAll(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), ManifestFile) {
			t.Errorf("without %s: got %v, want ErrDamaged", key, err)
		}
	}
}

// A named pipe in place of a file is an answer, not a reason to wait.
func TestNamedPipes(t *testing.T) {
	for _, name := range []string{ManifestFile, SummaryFile, ExperimentFile, "ports.parquet"} {
		dir := finished(t)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), mkfifo(path)); err != nil {
			t.Fatal(err)
		}
		if err := readAll(dir); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "regular file") {
			t.Errorf("%s: got %v, want that it is not a regular file", name, err)
		}
	}
}
