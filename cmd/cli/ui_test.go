package cli

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// browse asks csiglab ui as a browser's address line does.
func browse(t *testing.T, base, path string) (status int, text string, head http.Header) {
	t.Helper()
	r, err := http.Get(base + path) //nolint:noctx // this machine
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var b strings.Builder
	if _, err := bufio.NewReader(r.Body).WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, b.String(), r.Header
}

// The program lists folders, makes reports and comparisons, names what it cannot make, and
// ends with Ctrl-C at once, also while it makes a page. It changes no folder.
func TestUI(t *testing.T) {
	checkout.SkipSlowRace(t)
	u := newTool(t, builtPrograms(t))
	u.env = append(u.env, "XDG_RUNTIME_DIR="+t.TempDir())
	dir := t.TempDir()
	for _, name := range []string{"a", "b: 1", "damaged"} {
		if err := os.Rename(readingtest.ThreeFlow().Folder(t, nil).Dir, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "damaged", "ports.parquet"), 500); err != nil {
		t.Fatal(err)
	}
	before := filesIn(t, dir)
	cmd := exec.Command(u.program, "ui", dir, "--port", "0")
	var stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stderr = u.dir, u.env, &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	base := strings.TrimSuffix(strings.TrimSpace(line), "/")
	address, err := url.Parse(base)
	if err != nil || address.Hostname() != "127.0.0.1" {
		t.Fatalf("%s, %v", line, err)
	}
	for _, c := range []struct {
		path   string
		status int
		want   string
	}{
		{"/", 200, "2 of 2 expectations held"},
		{"/run/a", 200, "<h1>"},
		{"/run/b:%201", 200, "<h1>"},
		{"/compare?a=a&b=b:+1", 200, "Comparison"},
		{"/run/damaged", 422, "ports.parquet"},
		{"/compare?a=a&b=damaged", 422, "ports.parquet"},
		{"/run/..%2fa", 404, ""},
		{"/", 200, ">damaged<"}, // it goes on
	} {
		status, text, head := browse(t, base, c.path)
		if status != c.status || !strings.Contains(text, c.want) || !strings.HasPrefix(head.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: status %d, %v\n%.2000s", c.path, status, head, text)
		}
	}
	if got := filesIn(t, dir); got != before {
		t.Error("the folders have changed")
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"ui", dir, "--port", address.Port()}, 3, "the port is in use"},
		{[]string{"ui", dir, dir}, 2, "want one folder at most"},
		{[]string{"ui", filepath.Join(dir, "a")}, 2, "is a run's folder; name the folder that it is in"},
		{[]string{"ui", filepath.Join(dir, "nowhere")}, 2, "there is no such folder"},
		{[]string{"ui", filepath.Join(dir, "a", runfolder.ManifestFile)}, 2, "not a directory"},
		{[]string{"ui", dir, "--port", "70000"}, 2, "70000"},
	} {
		if code, _, stderr := u.run("", c.args...); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d\n%s", c.args, code, stderr)
		}
	}
	connection, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if _, err := fmt.Fprintf(connection, "GET /compare?a=b:+1&b=a HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	cmd.Process.Signal(syscall.SIGINT)
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, &stderr)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to end", took)
	}
}
