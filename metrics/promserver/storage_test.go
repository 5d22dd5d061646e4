package promserver

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// full returns a server whose storages can write no file. Root may write what nobody may,
// and a full disk needs root: the folders of the files are gone.
func full(t *testing.T, c Config) *Server {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, db := range []*tsdb.DB{s.storage.loaded, s.storage.scraped} {
		if err := os.RemoveAll(db.Dir() + "/chunks_head"); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// closed closes a server whose storages can write no file: it leaves nothing.
func closed(t *testing.T, s *Server) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

// A run for which the temporary folder has no room is not loaded; the error names the folder.
func TestLoadIntoAFullFolder(t *testing.T) {
	e := readingtest.ThreeFlow()
	e.Windows, e.Seeds = 400, []uint64{1}
	s := full(t, Config{})
	_, err := s.Load(t.Context(), e.Folder(t, nil).Dir, series.Options{Stretch: 1000})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "temporary folder "+s.dir.Dir+": ") {
		t.Errorf("%v, want what cannot be written, and where", err)
	}
	closed(t, s)
}

// A server that can keep no more of what it scrapes says so once, and does not panic.
func TestScrapeIntoAFullFolder(t *testing.T) {
	var failed []error
	s := full(t, Config{Fail: func(err error) { failed = append(failed, err) }})
	a := s.storage.scraped.Appender(t.Context())
	for i := range int64(400) { // several chunks
		if _, err := a.Append(0, labels.FromStrings(model.MetricNameLabel, "x"), time.Now().UnixMilli()+i, float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	s.mapScraped(time.Millisecond)
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "temporary folder "+s.dir.Dir+": ") {
		t.Errorf("%v, want one error that names the folder", failed)
	}
	closed(t, s)
}
