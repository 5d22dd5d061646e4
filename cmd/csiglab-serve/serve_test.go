package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli"
	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// csiglab runs a command of this program.
func csiglab(args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = cli.Execute(context.Background(), command.Linked{Server: prometheus{}}, args, nil, &out, &errs)
	return code, out.String(), errs.String()
}

// serveNow runs serve until it has printed its address, and then ends it as Ctrl-C does.
func serveNow(args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, errs := untilWritten{end: cancel}, strings.Builder{}
	code = cli.Execute(ctx, command.Linked{Server: prometheus{}}, append([]string{"serve"}, args...), nil, &out, &errs)
	return code, out.String(), errs.String()
}

// untilWritten calls end when something is written.
type untilWritten struct {
	strings.Builder
	end func()
}

func (w *untilWritten) Write(text []byte) (int, error) {
	defer w.end()
	return w.Builder.Write(text)
}

// serve says the run's time range and ends with Ctrl-C.
func TestServe(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	code, stdout, stderr := serveNow(folder, "--listen", "127.0.0.1:0")
	if code != 0 || !strings.HasPrefix(stdout, "http://127.0.0.1:") || !strings.Contains(stderr, "from=9466847") || !strings.Contains(stderr, `run "run"`) {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// serveUntil returns when requests that were under way have ended, and not when it begins to
// wait for them: its caller takes away what they use.
func TestServeUntilWaits(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // this machine
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Bool
	got := make(chan error, 1)
	go func() {
		r, err := http.Get("http://" + l.Addr().String()) //nolint:noctx // this machine
		if err == nil {
			err = r.Body.Close()
		}
		got <- err
	}()
	if err := serveUntil(ctx, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		cancel()
		time.Sleep(300 * time.Millisecond)
		ended.Store(true)
	}), 1<<16); err != nil {
		t.Error(err)
	}
	if !ended.Load() {
		t.Error("serveUntil returned before the request had ended")
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
}

// A folder that cannot be served, and a port that is taken, are named.
func TestServeRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	folder, damaged := readingtest.ThreeFlow().Folder(t, nil).Dir, readingtest.ThreeFlow().Folder(t, nil).Dir
	if err := os.Truncate(filepath.Join(damaged, "ports.parquet"), 500); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		folder, listen string
		code           int
		want           string
	}{
		{t.TempDir(), "127.0.0.1:0", 2, "this is not a run folder of csiglab"},
		{damaged, "127.0.0.1:0", 3, "damaged"},
		{folder, taken.Addr().String(), 3, "the port is in use"},
	} {
		if code, stdout, stderr := serveNow(c.folder, "--listen", c.listen); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit %d\n%s%s", c, code, stdout, stderr)
		}
	}
}

func TestExport(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	file := filepath.Join(t.TempDir(), "run.om")
	code, _, stderr := csiglab("export", folder, "--openmetrics", file, "--start", "2026-01-01T00:00:00Z", "--stretch", "1")
	text, err := os.ReadFile(file)
	if code != 0 || err != nil || !strings.HasSuffix(string(text), "\n# EOF\n") || !strings.Contains(string(text), fmt.Sprintf(" %d.", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Unix())) ||
		!strings.Contains(stderr, "stretched 1 times") {
		t.Errorf("exit %d, %v\n%s%.500s", code, err, stderr, text)
	}
	if code, stdout, _ := csiglab("export", folder, "--openmetrics", "-"); code != 0 || !strings.HasSuffix(stdout, "\n# EOF\n") {
		t.Errorf("exit %d", code)
	}
	if code, _, stderr := csiglab("export", folder, "--openmetrics", t.TempDir()+"/no/where"); code != 2 || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
	if code, _, stderr := csiglab("export", "nowhere", "--openmetrics", "-"); code != 2 || !strings.Contains(stderr, "no such file or directory") {
		t.Errorf("exit %d\n%s", code, stderr)
	}
}
