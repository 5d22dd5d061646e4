package promserver_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/series"
)

// promtool takes the OpenMetrics text, and a Prometheus that has the blocks that it makes
// answers queries as csiglab serve does.
func TestBackfill(t *testing.T) {
	for _, program := range []string{"promtool", "prometheus"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err, "; it is in Debian's package prometheus")
		}
	}
	f := three(t, nil)
	s, _ := newServer(t, promserver.Config{})
	loaded, err := s.Load(t.Context(), f.Dir, series.Options{Stretch: 1000})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text, err := os.Create(filepath.Join(dir, "run.om"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.WriteOpenMetrics(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	text.Close()
	blocks := filepath.Join(dir, "blocks")
	if out, err := exec.CommandContext(t.Context(), "promtool", "tsdb", "create-blocks-from", "openmetrics", text.Name(), blocks).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	base := realPrometheus(t, dir, "", "--storage.tsdb.path="+blocks, "--storage.tsdb.retention.time=100y")
	at := loaded.From.Add(2 * time.Second)
	for _, query := range []string{
		`csig_port_utilisation_ratio{port="s0-s1",variant="csig"}`, `sum(csig_flow_receive_bytes_total)`,
		`histogram_quantile(0.9, sum by (le) (csig_port_window_utilisation_ratio_bucket))`, `sum(rate(csig_port_transmit_bytes_total[1s]))`, `count(csig_run_info)`,
	} {
		var r result
		call(t, base, "GET", "/api/v1/query", url.Values{"query": {query}, "time": {fmt.Sprintf("%.3f", float64(at.UnixMilli())/1000)}}, &r)
		m, err := s.Query(t.Context(), query, time.Time{}, at, 0)
		if err != nil || len(m) != 1 || len(r.Result) != 1 {
			t.Errorf("%s: Prometheus has %+v, the server %v, %v", query, r, m, err)
			continue
		}
		if have, want := fmt.Sprint(r.Result[0].Value[1]), strconv.FormatFloat(m[0].Floats[0].F, 'f', -1, 64); have != want {
			t.Errorf("%s: Prometheus says %s, the server %s", query, have, want)
		}
	}
}

// realPrometheus starts Debian's Prometheus and returns its address once it is ready.
func realPrometheus(t *testing.T, dir, config string, args ...string) string {
	t.Helper()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var out strings.Builder
	cmd := exec.CommandContext(ctx, "prometheus", append(args, "--config.file="+file, "--web.listen-address="+address)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		cmd.Wait() //nolint:errcheck // it was killed
		if t.Failed() {
			t.Log(out.String())
		}
	})
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		r, err := http.Get("http://" + address + "/-/ready") //nolint:noctx // this machine
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode == http.StatusOK {
			return "http://" + address
		}
	}
	t.Fatal("Prometheus is not ready")
	return ""
}
