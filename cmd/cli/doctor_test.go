package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/image"

	"github.com/csiglab/csiglab/cmd/cli/doctor"
	"github.com/csiglab/csiglab/cmd/cli/machine"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/containerlabtest"
)

// examined returns the findings of csiglab doctor, as a process of its own that a command
// line starts.
func examined(t *testing.T, line ...string) map[string]doctor.Finding {
	t.Helper()
	line = append(line, filepath.Join(builtPrograms(t), "csiglab"), "doctor", "--json", "--out", t.TempDir())
	cmd := exec.Command(line[0], line[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output() // the exit code depends on the machine
	var list []doctor.Finding
	if wrong := json.Unmarshal(out, &list); wrong != nil {
		t.Fatalf("%q: %v, %v: %s%s", line, err, wrong, out, stderr.String())
	}
	findings := map[string]doctor.Finding{}
	for _, f := range list {
		findings[f.Name] = f
	}
	return findings
}

// TestDoctorTriesTheEngine needs root and dockerd; it is skipped without. It holds that
// doctor makes containers of our own image and leaves nothing.
func TestDoctorTriesTheEngine(t *testing.T) {
	checkout.SkipLong(t)
	docker := containerlabtest.Docker(t)
	found := examined(t)
	for _, name := range []string{"root", "docker socket", "docker engine", "containers"} {
		if f := found[name]; !f.OK || f.Runtime != runtimes.Containerlab {
			t.Errorf("%s: got %+v, want ok", name, f)
		}
	}
	if f := found["docker engine"]; !strings.Contains(f.Detail, "version ") || !strings.Contains(f.Detail, "API ") {
		t.Errorf("docker engine: got %q, want its versions", f.Detail)
	}
	if f := found["containers"]; !strings.HasPrefix(f.Detail, "3 unprivileged ones ") {
		t.Errorf("containers: got %q, want three", f.Detail)
	}
	left, err := docker.ContainerList(context.Background(), container.ListOptions{All: true})
	if err != nil || len(left) > 0 {
		t.Errorf("containers: %d are left, %v", len(left), err)
	}
	images, err := docker.ImageList(context.Background(), image.ListOptions{All: true})
	if err != nil || len(images) > 0 {
		t.Errorf("images: %d are left, %v", len(images), err)
	}
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "csiglab-doctor-*")); err != nil || len(left) > 0 {
		t.Errorf("folders: %q are left, %v", left, err)
	}
}

// TestDoctorAsksTheEngine holds that an engine that does not work is named, whether or
// not a client program is installed.
func TestDoctorAsksTheEngine(t *testing.T) {
	file := write(t, "file", "")
	for _, c := range []struct {
		name, host, finding, detail, fix string
	}{
		{"no socket", "unix:///nowhere/docker.sock", "docker socket", "there is no /nowhere/docker.sock", "install and start the engine"},
		{"file", "unix://" + file, "docker socket", file + " is not a socket", "let DOCKER_HOST name the engine's socket"},
		{"another machine", "tcp://192.0.2.1:2375", "docker socket", "DOCKER_HOST is tcp://192.0.2.1:2375", "let DOCKER_HOST name a Unix socket of this machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", c.host)
			found := examined(t)
			if f := found[c.finding]; f.OK || !f.Optional || f.Detail != c.detail || !strings.HasPrefix(f.Fix, c.fix) {
				t.Errorf("%s: got %+v, want %q and %q", c.finding, f, c.detail, c.fix)
			}
			if f := found["docker engine"]; f.OK {
				t.Errorf("docker engine: got %+v, want that it is missing", f)
			}
		})
	}
	t.Run("engine that fails", func(t *testing.T) {
		containerlabtest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/_ping") {
				w.Header().Set("Api-Version", "1.41")
				return
			}
			http.Error(w, `{"message":"the engine is broken"}`, http.StatusInternalServerError)
		})
		found := examined(t)
		if f := found["docker engine"]; f.OK || !strings.Contains(f.Detail, "the engine is broken") || f.Fix == "" || !found["docker socket"].OK {
			t.Errorf("docker engine: got %+v, want that it is broken", f)
		}
	})
}

// TestDoctorNamesWhatIsNotAllowed holds that doctor tries what a run does with the rights
// of this process, not with those of the user.
func TestDoctorNamesWhatIsNotAllowed(t *testing.T) {
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Geteuid() != 0 {
		t.Skip("to take capabilities away needs root and setpriv")
	}
	found := examined(t, setpriv, "--bounding-set=-net_admin,-sys_nice", "--inh-caps=-net_admin,-sys_nice")
	if f := found["capabilities"]; f.OK || f.Optional || f.Detail != "this process has no CAP_NET_ADMIN" {
		t.Errorf("capabilities: got %+v, want that CAP_NET_ADMIN is missing", f)
	}
	if f := found["veth links"]; f.OK || f.Fix != "this process may not do it: see capabilities above" {
		t.Errorf("veth links: got %+v, want that they are not allowed", f)
	}
	if f := found["traffic shaping"]; f.OK || f.Detail != "not tried" {
		t.Errorf("traffic shaping: got %+v, want that it was not tried", f)
	}
	if f := found["real-time priority"]; f.OK || !f.Optional || !strings.Contains(f.Detail, "operation not permitted") || !strings.Contains(f.Fix, "clock wall runs without it") {
		t.Errorf("real-time priority: got %+v, want that it is not allowed and not needed", f)
	}
	if f := found["network namespaces"]; !f.OK {
		t.Errorf("network namespaces: got %+v, want ok: they need CAP_SYS_ADMIN alone", f)
	}
}

// TestDoctorText holds the headings of the runtimes and the states of lines.
func TestDoctorText(t *testing.T) {
	got := machine.FindingsText([]doctor.Finding{
		{Runtime: "a", Name: "one", OK: true, Detail: "fine"},
		{Runtime: "b", Name: "two", OK: true, Detail: "fine"},
		{Runtime: "b", Name: "three", Optional: true, Detail: "none", Fix: "make one"},
		{Runtime: "c", Name: "four", OK: true, Optional: true, Detail: "fine"},
		{Runtime: "c", Name: "five", Optional: true, Detail: "none", Fix: "make one"},
		{Name: "six", Detail: "none", Fix: "make one"},
	})
	want := `runtime a: ready
  ok       one: fine
runtime b: ready, but not for everything
  ok       two: fine
  missing  three: none; make one
runtime c: not ready; csiglab works without it
  ok       four: fine
  missing  five: none; make one
this machine: not ready
  missing  six: none; make one
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
