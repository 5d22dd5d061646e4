package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
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

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// served is a csiglab serve of a test.
type served struct {
	*tool
	cmd    *exec.Cmd
	stderr strings.Builder
	base   string // such as http://127.0.0.1:40123
}

// serve starts csiglab serve at a free port.
func (u *tool) serve(args ...string) *served {
	u.Helper()
	s := &served{tool: u, cmd: exec.Command(u.program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)}
	s.cmd.Dir, s.cmd.Env, s.cmd.Stderr = u.dir, append(u.env, "TMPDIR="+u.TempDir()), &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		u.Fatal(err)
	}
	u.Cleanup(func() { s.cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		s.cmd.Wait()
		u.Fatalf("serve %q: %v: %s", args, err, &s.stderr)
	}
	s.base = strings.TrimSuffix(strings.TrimSpace(line), "/")
	return s
}

// ownList gives an ordinary user a list of runs that does not depend on TMPDIR, of which a
// server under test has one of its own.
func ownList(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // short, as the names of sockets must be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
}

// end ends the server with Ctrl-C: it exits with 0 and leaves nothing.
func (s *served) end() {
	s.Helper()
	var temporary string
	for _, v := range s.cmd.Env {
		temporary = strings.TrimPrefix(v, "TMPDIR=")
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) != 1 {
		s.Errorf("while it serves, its temporary folder has %v, %v", entries, err)
	}
	s.cmd.Process.Signal(syscall.SIGINT)
	if err := s.cmd.Wait(); err != nil {
		s.Errorf("serve: %v: %s", err, &s.stderr)
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) != 0 {
		s.Errorf("left: %v, %v", entries, err)
	}
}

// query returns how many series an expression has, at a server of Prometheus' API.
func query(t *testing.T, base, expression string) int {
	t.Helper()
	r, err := http.Get(base + "/api/v1/query?query=" + url.QueryEscape(expression)) //nolint:noctx // this machine
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var a struct {
		Status string
		Error  string
		Data   struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(r.Body).Decode(&a); err != nil || a.Status != "success" {
		t.Fatalf("%s: %v, %s %s", expression, err, a.Status, a.Error)
	}
	return len(a.Data.Result)
}

// eventually waits until an expression has a number of series.
func eventually(t *testing.T, base, expression string, want int) {
	t.Helper()
	got := -1
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if got = query(t, base, expression); got == want {
			return
		}
	}
	t.Errorf("%s at %s has %d series, want %d", expression, base, got, want)
}

// A running lab is scraped by csiglab serve, and through it by a real Prometheus with the
// configuration that csiglab prints, which answers queries. When the lab ends, its series
// do too.
func TestServeLab(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	ownList(t)
	u := newTool(t, builtPrograms(t))
	lab := u.up("netns", "one", "first")
	s := u.serve(lab.ID, "--interval", "200ms")
	eventually(t, s.base, "up == 1", 7)
	eventually(t, s.base, "csig_port_rate_bytes_per_second", 12)
	eventually(t, s.base, `sum by (job) (csig_flow_receive_bytes_total) > 0`, 1)

	config, _ := u.want(command.ExitOK, "scrape-config", lab.ID, "--address", strings.TrimPrefix(s.base, "http://"), "--interval", "500ms")
	all, _ := u.want(command.ExitOK, "scrape-config", "--address", strings.TrimPrefix(s.base, "http://"))
	t.Run("Prometheus", func(t *testing.T) {
		if _, err := exec.LookPath("prometheus"); err != nil {
			t.Skip(err, "; it is Debian's package prometheus")
		}
		for name, text := range map[string]string{"static": config, "discovery": all} {
			file := write(t, name+".yml", text)
			if out, err := exec.Command("promtool", "check", "config", file).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", name, err, out)
			}
		}
		text := exec.Command("promtool", "check", "metrics")
		text.Stdin = strings.NewReader(body(t, s.base+"/scrape/"+lab.ID+"/tor0"))
		if out, err := text.CombinedOutput(); err != nil {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
		base := startPrometheus(t, config)
		eventually(t, base, "up == 1", 7)
		for expression, want := range map[string]int{
			`csig_port_utilisation_ratio`: 12, `sum by (instance) (csig_port_transmit_bytes_total{node="tor0"})`: 1,
			`histogram_quantile(0.99, sum by (le) (csig_port_window_utilisation_ratio_bucket))`: 1, `csig_run_info`: 1,
			// The label of the family, and not that of the configuration's job.
			`csig_flow_receive_bytes_total{exported_job=~".+"}`: 0,
		} {
			eventually(t, base, expression, want)
		}
	})
	u.want(command.ExitOK, "down", lab.ID)
	eventually(t, s.base, `{__name__=~"up|csig_.*"}`, 0)
	if query(t, s.base, `max_over_time(csig_port_rate_bytes_per_second[5m])`) != 12 {
		t.Error("what was scraped has gone")
	}
	s.end()
	if !strings.Contains(s.stderr.String(), "lab "+lab.ID+": the lab has ended") {
		t.Errorf("stderr: %s", &s.stderr)
	}
}

func body(t *testing.T, address string) string {
	t.Helper()
	r, err := http.Get(address) //nolint:noctx // this machine
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, r.Status, err)
	}
	return string(text)
}

// startPrometheus starts Debian's Prometheus and returns its address.
func startPrometheus(t *testing.T, config string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, "prometheus", "--config.file="+write(t, "prometheus.yml", config), "--web.listen-address="+address, "--storage.tsdb.path="+t.TempDir())
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait() //nolint:errcheck // it was killed
	})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if r, err := http.Get("http://" + address + "/-/ready"); err == nil { //nolint:noctx // this machine
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
	}
	t.Fatal("Prometheus is not ready")
	return ""
}

// noServer is a server that nothing may reach.
type noServer struct{ *testing.T }

func (n noServer) Serve(context.Context, command.ServeRequest) error {
	n.Error("it serves")
	return nil
}

func (n noServer) WriteOpenMetrics(context.Context, string, series.Options, io.Writer) (string, error) {
	n.Error("it writes")
	return "", nil
}

// TestServeRefuses holds that wrong input is named before anything is served.
func TestServeRefuses(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	empty, blanks := write(t, "empty", "\n"), write(t, "blanks", "a b\n")
	noRun := t.TempDir()
	if err := os.Mkdir(filepath.Join(noRun, "nodes"), 0o755); err != nil {
		t.Fatal(err)
	}
	labs := &fakeLab{runs: []runs.Run{
		{ID: "ab12cd", Name: "mylab", State: runs.Held, Nodes: []runs.Node{{Name: "h0"}}}, {ID: "dead01", Name: "gone", State: runs.Dead},
	}}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{filepath.Join(filepath.Dir(folder), "rum")}, command.ExitUsage, `did you mean "` + folder + `"?`},
		{[]string{filepath.Join(noRun, "nods")}, command.ExitUsage, "no such run is under way\n"}, // nodes is no run's folder
		{[]string{folder, "--listen", "127.0.0.1:99999"}, command.ExitUsage, "want an address and a port"},
		{[]string{"mylabb"}, command.ExitUsage, `did you mean "mylab"?`},
		{[]string{"mylab"}, command.ExitUsage, "no node serves metrics"},
		{[]string{"gone"}, command.ExitInfrastructure, "run dead01 is dead"},
		{[]string{empty}, command.ExitUsage, "it is a file"},
		{[]string{folder, "--listen", "9090"}, command.ExitUsage, "want an address and a port"},
		{[]string{folder, "--listen", "0.0.0.0:0"}, command.ExitUsage, "add --token-file, or --insecure"},
		{[]string{folder, "--listen", ":0"}, command.ExitUsage, "add --token-file, or --insecure"},
		{[]string{folder, "--token-file", empty}, command.ExitUsage, "want one line of printable ASCII"},
		{[]string{folder, "--token-file", blanks}, command.ExitUsage, "want one line of printable ASCII"},
		{[]string{folder, "--token-file", "nowhere"}, command.ExitUsage, "no such file"},
		{[]string{folder, "--stretch", "0"}, command.ExitUsage, "want 1 to 1000000"},
		{[]string{folder, "--interval", "1ms"}, command.ExitUsage, "want at least 100ms"},
		{[]string{folder, "--query-depth", "5000"}, command.ExitUsage, "want 1 to 1000"},
		{[]string{folder, "--queries", "-1"}, command.ExitUsage, "want 0 to 1000"},
		{[]string{folder, "--query-memory", "1000"}, command.ExitUsage, "write a number and one of"},
		{[]string{folder, "--query-memory", "1MB"}, command.ExitUsage, "want 16MB to 100TB"},
		{[]string{folder, "--query-time", "0s"}, command.ExitUsage, "want at least 10ms"},
	} {
		var out, errs strings.Builder
		code := execute(t.Context(), command.Linked{Server: noServer{t}}, labs.lab(), append([]string{"serve"}, c.args...), nil, &out, &errs)
		if stdout, stderr := out.String(), errs.String(); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%q: exit %d, want %d\n%s%s, want %q", c.args, code, c.code, stdout, stderr, c.want)
		}
	}
}

func TestScrapeConfigRefuses(t *testing.T) {
	labs := &fakeLab{runs: []runs.Run{{ID: "ab12cd", Name: "mylab", State: runs.Held, Nodes: []runs.Node{{Name: "h0"}}}}}
	for _, c := range []struct{ args, want string }{
		{"mylabb", `did you mean "mylab"?`}, {"mylab", "no node serves metrics"}, {"--address here", "want a host and a port"},
	} {
		args := append([]string{"scrape-config"}, strings.Fields(c.args)...)
		if code, stdout, stderr := csiglab(labs, nil, args...); code != command.ExitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// TestExportRefuses holds that wrong input is named before anything is written.
func TestExportRefuses(t *testing.T) {
	folder := readingtest.ThreeFlow().Folder(t, nil).Dir
	for _, c := range []struct{ args, want string }{
		{folder, "name what to write"},
		{folder + " --openmetrics - --start yesterday", "want a time"},
		{folder + " --openmetrics - --stretch -1", "want 1 to"},
	} {
		var out, errs strings.Builder
		code := execute(t.Context(), command.Linked{Server: noServer{t}}, (&fakeLab{}).lab(), append([]string{"export"}, strings.Fields(c.args)...), nil, &out, &errs)
		if code != command.ExitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit %d\n%s", c.args, code, errs.String())
		}
	}
}
