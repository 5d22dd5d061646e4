package endpoint_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/exposition"
	"github.com/csiglab/csiglab/metrics/exposition/endpoint"
)

// write writes a text that names its format.
func write(to io.Writer, f exposition.Format) error {
	_, err := io.WriteString(to, "# "+f.ContentType()+"\n")
	return err
}

func serve(t *testing.T, path string) *endpoint.Server {
	t.Helper()
	s, err := endpoint.Serve(path, write)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// deep returns a folder whose path is longer than the path of a socket may be.
func deep(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 20))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestServeAndRead(t *testing.T) {
	path := filepath.Join(deep(t), "12")
	s := serve(t, path)
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != fs.ModeSocket|0o600 {
		t.Fatalf("%v, error %v, want a socket that only this user can open", info.Mode(), err)
	}
	c := endpoint.NewClient(path)
	defer c.Close()
	for range 2 { // over one connection
		text, err := c.Read(t.Context())
		if want := "# text/plain; version=0.0.4; charset=utf-8\n"; err != nil || string(text) != want {
			t.Errorf("read %q, error %v, want %q", text, err, want)
		}
	}
	s.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the socket after Close: %v", err)
	}
	if _, err := c.Read(t.Context()); err == nil {
		t.Error("a server that is closed answers")
	}
}

// short returns the path of a socket that HTTP's own client can dial.
func short(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "m")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return folder + "/s"
}

func TestFormatsAndPaths(t *testing.T) {
	path := short(t)
	serve(t, path)
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	// The Accept of Prometheus 3 (scrape/scrape.go).
	const prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
	for _, c := range []struct {
		method, path, accept string
		status               int
		kind                 string
	}{
		{"GET", "/metrics", "", 200, "text/plain; version=0.0.4; charset=utf-8"},
		{"GET", "/metrics", "*/*", 200, "text/plain; version=0.0.4; charset=utf-8"},
		{"GET", "/metrics", prometheus, 200, "application/openmetrics-text; version=1.0.0; charset=utf-8"},
		{"HEAD", "/metrics", "", 200, "text/plain; version=0.0.4; charset=utf-8"},
		{"POST", "/metrics", "", 405, ""},
		{"GET", "/", "", 404, ""},
		{"GET", "/metrics/../../etc/passwd", "", 404, ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), c.method, "http://x"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Accept", c.accept)
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status || c.kind != "" && answer.Header.Get("Content-Type") != c.kind {
			t.Errorf("%s %s for %q: %d, %s, want %d, %s", c.method, c.path, c.accept, answer.StatusCode, answer.Header.Get("Content-Type"), c.status, c.kind)
		}
	}
}

// A socket of a process that was killed is replaced; a file is not.
func TestWhatIsThereBefore(t *testing.T) {
	path := short(t)
	old, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		t.Fatal(err)
	}
	old.SetUnlinkOnClose(false)
	old.Close()
	serve(t, path)
	file := path + "-file"
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := endpoint.Serve(file, write); err == nil || !strings.HasPrefix(err.Error(), "serve metrics: ") {
		t.Errorf("served in place of a file: %v", err)
	}
	if text, err := os.ReadFile(file); string(text) != "kept" {
		t.Errorf("the file has %q, error %v", text, err)
	}
	if _, err := endpoint.Serve("/nowhere/at/all", write); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("served in a folder that is not there: %v", err)
	}
}

// Readers that connect and say nothing do not keep the others out for ever, nor Close.
func TestSilentReaders(t *testing.T) {
	path := short(t)
	s := serve(t, path)
	for range 40 {
		call, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer call.Close()
	}
	c := endpoint.NewClient(path)
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with all connections taken: %v, want that the time is over", err)
	}
	var closed sync.WaitGroup
	closed.Go(s.Close)
	closed.Wait()
}
