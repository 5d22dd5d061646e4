package promserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

func newServer(t *testing.T, c promserver.Config) (*promserver.Server, *httptest.Server) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	s, err := promserver.New(c)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("left in the temporary folder: %v, %v", left, err)
		}
	})
	return s, web
}

// three returns a small folder of the experiment three-flow.
func three(t *testing.T, change func(*runfolder.Manifest, *runfolder.Summary)) *runfolder.Folder {
	e := readingtest.ThreeFlow()
	e.Windows, e.Seeds = 40, []uint64{1}
	return e.Folder(t, change)
}

// answer is what the API answers.
type answer struct {
	Status string
	Error  string
	Data   json.RawMessage
}

// result is the data of a query.
type result struct {
	ResultType string
	Result     []struct {
		Metric map[string]string
		Value  [2]any
		Values [][2]any
	}
}

// call asks the API as Grafana does: with a form in a POST, or with parameters.
func call(t *testing.T, base, method, path string, form url.Values, data any) {
	t.Helper()
	target, body := base+path, io.Reader(nil)
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	} else {
		target += "?" + form.Encode()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var a answer
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil || a.Status != "success" {
		t.Fatalf("%s %s?%s: %s, %+v, %v", method, path, form.Encode(), response.Status, a, err)
	}
	if err := json.Unmarshal(a.Data, data); err != nil {
		t.Fatalf("%s: %v in %s", path, err, a.Data)
	}
}

// Grafana's data source of type Prometheus asks these; each has an answer.
func TestGrafanaClient(t *testing.T) {
	s, web := newServer(t, promserver.Config{})
	loaded, err := s.Load(t.Context(), three(t, nil).Dir, series.Options{Stretch: 1000})
	if err != nil {
		t.Fatal(err)
	}
	span := url.Values{"start": {fmt.Sprint(loaded.From.Unix())}, "end": {fmt.Sprint(loaded.To.Unix() + 1)}}
	with := func(key string, values ...string) url.Values {
		form := maps.Clone(span)
		form[key] = values
		return form
	}
	var build struct{ Version string }
	call(t, web.URL, "GET", "/api/v1/status/buildinfo", nil, &build)
	var values []string
	call(t, web.URL, "GET", "/api/v1/label/run/values", with("match[]", "csig_run_info"), &values)
	if !slices.Equal(values, []string{"run"}) || build.Version == "" {
		t.Errorf("runs %q, version %q", values, build.Version)
	}
	for _, method := range []string{"GET", "POST"} {
		var names []string
		if call(t, web.URL, method, "/api/v1/labels", with("match[]", "csig_port_utilisation_ratio"), &names); !slices.Contains(names, "port") {
			t.Errorf("labels: %q", names)
		}
		var list []map[string]string
		if call(t, web.URL, method, "/api/v1/series", with("match[]", `csig_run_info{variant="csig"}`), &list); len(list) != 1 || list[0]["cc"] != "nscc" {
			t.Errorf("series: %v", list)
		}
		form := with("query", `csig_port_utilisation_ratio{port="s0-s1",variant="csig"}`)
		form.Set("step", "0.1")
		var r result
		if call(t, web.URL, method, "/api/v1/query_range", form, &r); r.ResultType != "matrix" || len(r.Result) != 1 || len(r.Result[0].Values) < 40 {
			t.Errorf("query_range: %+v", r)
		}
		call(t, web.URL, method, "/api/v1/query", url.Values{"query": {"1+1"}}, &struct{}{})
		call(t, web.URL, method, "/api/v1/query_exemplars", with("query", "csig_flow_acks_total"), &[]any{})
	}
	var r result
	call(t, web.URL, "POST", "/api/v1/query", url.Values{"query": {"sum by (variant) (csig_flow_receive_bytes_total)"}, "time": {fmt.Sprint(loaded.To.Unix())}}, &r)
	if len(r.Result) != 3 {
		t.Errorf("query: %+v", r)
	}
	var metadata map[string][]struct{ Type, Help, Unit string }
	if call(t, web.URL, "GET", "/api/v1/metadata", nil, &metadata); metadata["csig_port_queue_bytes"][0].Type != "gauge" || metadata["csig_run_info"][0].Type != "gauge" {
		t.Errorf("metadata: %v", metadata)
	}
	var targets struct {
		ActiveTargets []struct {
			Health string
			Labels map[string]string
		}
	}
	if call(t, web.URL, "GET", "/api/v1/targets", nil, &targets); len(targets.ActiveTargets) != 1 || targets.ActiveTargets[0].Health != "up" {
		t.Errorf("targets: %+v", targets)
	}
	for _, path := range []string{"/api/v1/rules", "/api/v1/alerts", "/api/v1/status/config", "/api/v1/status/flags", "/api/v1/status/runtimeinfo", "/api/v1/status/tsdb", "/api/v1/alertmanagers"} {
		call(t, web.URL, "GET", path, nil, &map[string]any{})
	}
	for path, want := range map[string]int{
		"/-/ready": 200, "/-/healthy": 200, "/": 200, "/nothing": 404, "/api/v1/nothing": 404, "/scrape/x/y": 404,
		"/api/v1/query?query=" + url.QueryEscape("sum("): 400, "/api/v1/query_range?query=up&start=0&end=9e9&step=1": 400,
	} {
		if code, _ := get(t, web.URL+path, nil); code != want {
			t.Errorf("%s: %d, want %d", path, code, want)
		}
	}
	// After the run its series have ended, although a query looks back for five minutes.
	if m, err := s.Query(t.Context(), "csig_run_info", time.Time{}, loaded.To.Add(time.Second), 0); err != nil || len(m) != 0 {
		t.Errorf("after the run: %v, %v", m, err)
	}
	if m, err := s.Query(t.Context(), "rate(csig_port_transmit_bytes_total[1s])", loaded.From, loaded.To, 100*time.Millisecond); err != nil || len(m) == 0 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := s.Query(t.Context(), "sum(", loaded.From, loaded.To, time.Second); err == nil {
		t.Error("a wrong expression is accepted")
	}
}

func get(t *testing.T, address string, change func(*http.Request)) (code int, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Two folders of one name do not share series, and an older run can be loaded after a
// newer one.
func TestTwoRunsOfOneName(t *testing.T) {
	s, _ := newServer(t, promserver.Config{})
	for i, want := range []string{"run", "run#2"} {
		f := three(t, func(m *runfolder.Manifest, _ *runfolder.Summary) { m.Started = m.Started.AddDate(0, 0, -30*i) })
		loaded, err := s.Load(t.Context(), f.Dir, series.Options{Stretch: 1})
		if err != nil || loaded.Run != want {
			t.Fatalf("loaded %q, %v, want %q", loaded.Run, err, want)
		}
		m, err := s.Query(t.Context(), fmt.Sprintf("csig_run_info{run=%q}", want), time.Time{}, loaded.To, 0)
		if err != nil || len(m) != 3 {
			t.Errorf("%s: %v, %v", want, m, err)
		}
	}
	if len(s.Runs()) != 2 {
		t.Errorf("runs: %v", s.Runs())
	}
}

// Names of a run folder may be anything. They are labels and text.
func TestHostileNames(t *testing.T) {
	checkout.SkipSlowRace(t)
	s, web := newServer(t, promserver.Config{})
	evil := `</code><script>alert("1")</script>` + "\n\\\"" + strings.Repeat("x", 10_000) + "\xff"
	_, err := s.Load(t.Context(), three(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Nodes[4].Name, m.Ports[1].Name, m.Flows[0].Name = evil, evil+"p", evil+"f"
	}).Dir, series.Options{Run: evil})
	if err != nil {
		t.Fatal(err)
	}
	if _, page := get(t, web.URL, nil); strings.Contains(page, "<script>") || !strings.Contains(page, "&lt;script&gt;") {
		t.Error("the page has the name as markup")
	}
	var values []string
	call(t, web.URL, "GET", "/api/v1/label/run/values", nil, &values)
	if want := strings.ToValidUTF8(evil, "\ufffd"); !slices.Equal(values, []string{want}) {
		t.Errorf("runs: %.100q", values)
	}
	var text strings.Builder
	if err := s.WriteOpenMetrics(t.Context(), &text); err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n") {
		if !strings.HasPrefix(line, "csig_") && !strings.HasPrefix(line, "# ") {
			t.Fatalf("line %d is %.100q", i+1, line)
		}
	}
}

func TestFoldersThatCannotBeLoaded(t *testing.T) {
	s, _ := newServer(t, promserver.Config{})
	damaged := three(t, nil).Dir
	if err := os.Truncate(filepath.Join(damaged, "cc.parquet"), 1000); err != nil {
		t.Fatal(err)
	}
	half, err := runfolder.Create(filepath.Join(t.TempDir(), "half"), runfolder.Manifest{Name: "half"})
	if err != nil {
		t.Fatal(err)
	}
	defer half.Abort("the test is over") //nolint:errcheck // in a temporary folder
	// Two ports of one name would share their series.
	alike := three(t, func(m *runfolder.Manifest, _ *runfolder.Summary) {
		m.Nodes[4].Name, m.Ports[8].Name, m.Ports[8].Tier, m.Ports[8].Direction = m.Nodes[0].Name, m.Ports[0].Name, m.Ports[0].Tier, m.Ports[0].Direction
	}).Dir
	for dir, want := range map[string]error{damaged: runfolder.ErrDamaged, half.Dir(): runfolder.ErrIncomplete, t.TempDir(): runfolder.ErrForeign, "nowhere": os.ErrNotExist, alike: runfolder.ErrDamaged} {
		if _, err := s.Load(t.Context(), dir, series.Options{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", dir, err, want)
		}
	}
	if len(s.Runs()) != 0 {
		t.Errorf("runs: %v", s.Runs())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Load(ctx, three(t, nil).Dir, series.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestToken(t *testing.T) {
	_, web := newServer(t, promserver.Config{Token: "secret"})
	for header, want := range map[string]int{"": 401, "Bearer other": 401, "secret": 401, "Bearer secret": 200} {
		for _, path := range []string{"/", "/-/ready", "/api/v1/query?query=1", "/sd"} {
			if code, _ := get(t, web.URL+path, func(r *http.Request) { r.Header.Set("Authorization", header) }); code != want {
				t.Errorf("%s with %q: %d, want %d", path, header, code, want)
			}
		}
	}
}

// A page of the web that has given its own name the address 127.0.0.1 gets nothing.
func TestLocalNames(t *testing.T) {
	_, web := newServer(t, promserver.Config{LocalNames: true})
	for host, want := range map[string]int{"127.0.0.1:9090": 200, "localhost": 200, "localhost:9090": 200, "[::1]:9090": 200, "evil.example": 403, "localhost.evil.example:9090": 403} {
		if code, _ := get(t, web.URL+"/-/ready", func(r *http.Request) { r.Host = host }); code != want {
			t.Errorf("%s: %d, want %d", host, code, want)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/api/v1/query?query=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://evil.example")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if allowed := response.Header.Get("Access-Control-Allow-Origin"); allowed != "" {
		t.Errorf("pages of %q may read answers", allowed)
	}
}

// fakeLab is a lab whose nodes have these texts.
type fakeLab struct {
	mu    sync.Mutex
	texts map[string]string // "": the node does not answer
	ended bool
}

func (l *fakeLab) Nodes(context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil, promserver.ErrEnded
	}
	return slices.Sorted(maps.Keys(l.texts)), nil
}

func (l *fakeLab) Text(_ context.Context, node string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.texts[node] == "" {
		return nil, errors.New("it does not answer")
	}
	return []byte(l.texts[node]), nil
}

func (l *fakeLab) set(change func(l *fakeLab)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// A lab is scraped until it ends; what is gone has ended at once, and not after five
// minutes.
func TestScrape(t *testing.T) {
	var mu sync.Mutex
	var said []string
	s, web := newServer(t, promserver.Config{Interval: 20 * time.Millisecond, Say: func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}})
	text := func(bytes int) string {
		return fmt.Sprintf("# TYPE csig_port_transmit_bytes_total counter\ncsig_port_transmit_bytes_total{run=\"ab12\",port=\"p\",job=\"\"} %d\n", bytes)
	}
	l := &fakeLab{texts: map[string]string{"tor0": text(5), "h0": text(7), "bad": "{{{ no text"}}
	s.Scrape("ab12", l)
	s.Scrape("ab12", l) // once
	// until waits until a query has this result.
	until := func(query string, want float64, series int) {
		t.Helper()
		var last string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			m, err := s.Query(t.Context(), query, time.Time{}, time.Now(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(m) == series && (series == 0 || m[0].Floats[0].F == want) {
				return
			}
			last = m.String()
		}
		t.Fatalf("%s is %s, want %d series, %v", query, last, series, want)
	}
	until(`csig_port_transmit_bytes_total{instance="tor0",port="p"}`, 5, 1)
	until(`sum(up{run="ab12"})`, 2, 1)
	until(`up{instance="bad"}`, 0, 1)
	l.set(func(l *fakeLab) { l.texts["tor0"] = text(50); l.texts["h0"] = "" })
	until(`csig_port_transmit_bytes_total{instance="tor0"}`, 50, 1)
	until(`csig_port_transmit_bytes_total{instance="h0"}`, 0, 0) // the node does not answer
	until(`up{instance="h0"}`, 0, 1)
	l.set(func(l *fakeLab) { l.texts["h0"] = text(8) })
	until(`csig_port_transmit_bytes_total{instance="h0"}`, 8, 1)
	l.set(func(l *fakeLab) { delete(l.texts, "h0") }) // the node has gone
	until(`up{instance="h0"}`, 0, 0)
	if code, got := get(t, web.URL+"/scrape/ab12/tor0", nil); code != 200 || got != text(50) {
		t.Errorf("%d: %s", code, got)
	}
	if code, _ := get(t, web.URL+"/scrape/ab12/h0", nil); code != 502 {
		t.Errorf("a node that does not answer: %d, want 502", code)
	}
	if _, got := get(t, web.URL+"/sd", nil); !strings.Contains(got, `"__metrics_path__":"/scrape/ab12/tor0"`) {
		t.Errorf("/sd: %s", got)
	}
	l.set(func(l *fakeLab) { l.ended = true })
	until(`{__name__=~"up|csig_.*"}`, 0, 0)
	if labs := s.Labs(); len(labs) != 0 {
		t.Errorf("labs: %q", labs)
	}
	// What was scraped stays.
	if m, err := s.Query(t.Context(), `max_over_time(csig_port_transmit_bytes_total{instance="tor0"}[1m])`, time.Time{}, time.Now(), 0); err != nil || len(m) != 1 || m[0].Floats[0].F != 50 {
		t.Errorf("after the end: %v, %v", m, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Contains(said, "lab ab12: the lab has ended") || !slices.ContainsFunc(said, func(text string) bool { return strings.HasPrefix(text, "lab ab12: node bad: its text is damaged") }) {
		t.Errorf("said %q", said)
	}
}

// Close waits for queries that are under way and ends them: none of them finds what it uses
// unmapped, which would crash the process. Later ones are refused.
func TestCloseUnderQueries(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	folder := three(t, nil).Dir
	for range 2 {
		s, err := promserver.New(promserver.Config{})
		if err != nil {
			t.Fatal(err)
		}
		loaded, err := s.Load(t.Context(), folder, series.Options{Stretch: 1000})
		if err != nil {
			t.Fatal(err)
		}
		h := s.Handler()
		target := "/api/v1/query_range?" + url.Values{
			"query": {`sum by (port) (rate({__name__=~"csig_port.*"}[1s]))`}, "step": {"0.01"},
			"start": {fmt.Sprint(loaded.From.Unix())}, "end": {fmt.Sprint(loaded.To.Unix() + 1)},
		}.Encode()
		ask := func() int {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
			return w.Code
		}
		var group sync.WaitGroup
		var asked atomic.Int32
		var closed atomic.Bool
		for range 4 {
			group.Go(func() {
				for !closed.Load() {
					ask()
					asked.Add(1)
				}
			})
		}
		for asked.Load() < 8 {
			time.Sleep(time.Millisecond)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		closed.Store(true)
		group.Wait()
		if code := ask(); code != http.StatusServiceUnavailable {
			t.Errorf("a request after Close: %d, want 503", code)
		}
		if _, err := s.Query(t.Context(), "vector(1)", loaded.From, loaded.From, 0); err == nil {
			t.Error("a query after Close has a result")
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
}

// The page and the list of targets have the labs by id, so that they do not change from one
// look to the next.
func TestLabsAreSorted(t *testing.T) {
	s, web := newServer(t, promserver.Config{Interval: time.Hour})
	var want []string
	for i := range 12 {
		id := fmt.Sprintf("lab%02d", i)
		want = append(want, id)
		s.Scrape(id, &fakeLab{texts: map[string]string{"tor0": "a 1\n"}})
	}
	for _, page := range []string{"/sd", "/"} {
		var got []string
		for deadline := time.Now().Add(10 * time.Second); len(got) < len(want) && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			_, text := get(t, web.URL+page, nil)
			got = slices.Compact(regexp.MustCompile(`lab\d\d`).FindAllString(text, -1))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", page, got)
		}
	}
}
