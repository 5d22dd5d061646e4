package promserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/promserver"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/units"
)

// loaded returns a server within limits that has a small run.
func loaded(t *testing.T, l limits.Limits) (*promserver.Server, http.Handler, promserver.Loaded) {
	t.Helper()
	s, _ := newServer(t, promserver.Config{Limits: l})
	run, err := s.Load(t.Context(), three(t, nil).Dir, series.Options{Stretch: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return s, s.Handler(), run
}

// ask returns the answer to a POST.
func ask(ctx context.Context, h http.Handler, path string, form url.Values) (code int, text string) {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/api/v1/"+path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Each limit is named with its value and its flag, by each path on which it may be exceeded,
// and what just keeps to it is answered.
func TestLimits(t *testing.T) {
	_, h, run := loaded(t, limits.Limits{Length: 2000, Depth: 10, Nodes: 100, Series: 60, Samples: 2000, Memory: 32 * units.MB})
	at := fmt.Sprint(run.To.Unix())
	span := url.Values{"start": {fmt.Sprint(run.From.Unix())}, "end": {at}, "time": {at}, "step": {"0.5"}}
	nested := func(n int) string { return strings.Repeat("abs(", n) + "vector(1)" + strings.Repeat(")", n) }
	const everything = `{__name__=~".+"}`
	for _, c := range []struct {
		path, key, value string
		code             int
		want             string // "": an answer
	}{
		{"query", "query", nested(9), 200, ""},
		{"query", "query", nested(10), 400, "the limit is 10, and csiglab serve --query-depth raises it"},
		{"query", "query", strings.Repeat("1 + ", 20) + "1", 400, "--query-depth"},
		{"query", "query", "1" + strings.Repeat(" ", 1999), 200, ""},
		{"query", "query", "1" + strings.Repeat(" ", 2000), 400, "the limit is 2kB, and csiglab serve --query-length raises it"},
		{"query", "query", `label_join(csig_run_info,"a",""` + strings.Repeat(`,"b"`, 50) + ")", 400, "the limit is 100, and csiglab serve --query-nodes raises it"},
		{"query", "query", `up{a=~"(x?){90}"}`, 400, "--query-nodes"},
		{"query", "query", `up{a=~"` + strings.Repeat("a long literal|", 100) + `"}`, 200, ""},
		{"query", "query", everything, 422, "the limit is 60, and csiglab serve --query-series raises it"},
		{"query", "query", "csig_run_info", 200, ""},
		{"query", "query", `csig_run_info[1m:1ms]`, 422, "the limit is 2000, and csiglab serve --query-samples raises it"},
		{"query", "query", `sum_over_time(vector(1)[500ms:1ms])`, 200, ""},
		{"query", "query", `sum_over_time(vector(1)[3s:1ms])`, 422, "--query-samples"},
		{"query", "query", "max_over_time(max_over_time(vector(1)[1s:1ms])[1s:1ms])", 422, "--query-samples"},
		{"query", "query", `label_replace(csig_run_info,"a","$1$1$1","run","(.*)")`, 200, ""},
		{"query", "query", `label_join(` + strings.Repeat(`label_join(`, 7) + "csig_run_info" + strings.Repeat(`,"a","","a","run","a","a","a","a","a")`, 8), 400, "--query-nodes"},
		{"query_range", "query", everything, 422, "--query-series"},
		{"query_range", "query", "csig_run_info", 200, ""},
		{"query_range", "query", nested(10), 400, "--query-depth"},
		{"format_query", "query", nested(10), 400, "--query-depth"},
		{"parse_query", "query", nested(10), 400, "--query-depth"},
		{"query_exemplars", "query", nested(10), 400, "--query-depth"},
		{"series", "match[]", everything, 422, "--query-series"},
		{"series", "match[]", "csig_run_info", 200, ""},
		{"series", "match[]", strings.Repeat("a", 2001), 400, "--query-length"},
		{"labels", "match[]", `{a=~"(x?){90}"}`, 400, "--query-nodes"},
		{"labels", "match[]", "csig_run_info", 200, ""},
		{"labels", "other", strings.Repeat("x", 100_000), 413, "--query-length"},
		{"read", "a", "b", 404, "neither remote read nor remote write"},
	} {
		form := url.Values{c.key: {c.value}}
		for key, value := range span {
			form[key] = value
		}
		code, text := ask(t.Context(), h, c.path, form)
		var a struct{ Status, ErrorType, Error string }
		if err := json.Unmarshal([]byte(text), &a); err != nil || code != c.code || !strings.Contains(a.Error, c.want) || (a.Status == "success") != (c.want == "") {
			t.Errorf("%s of %.60q: status %d, %.300s, want %d and %q", c.path, c.value, code, text, c.code, c.want)
		}
	}
}

// slow is a query that takes many times longer than a test may, and little memory.
var slow = "sum_over_time(" + strings.Repeat("abs(", 90) + "vector(time())" + strings.Repeat(")", 90) + "[500s:1ms])"

// A query that takes too long ends, and so does one whose client has gone; each gives its
// turn to another, and a short query needs no turn of theirs.
func TestTurns(t *testing.T) {
	_, h, run := loaded(t, limits.Limits{Queries: 1, Waiting: 1, Time: time.Minute, Samples: 1e9, Memory: 100 * units.GB})
	at := fmt.Sprint(run.To.Unix())
	long := url.Values{"query": {slow}, "time": {at}}
	ctx, leave := context.WithCancel(t.Context())
	var group sync.WaitGroup
	first := make(chan int, 2)
	for range 2 { // one works, and one waits
		group.Go(func() {
			code := http.StatusServiceUnavailable
			for code == http.StatusServiceUnavailable && ctx.Err() == nil { // those below may come first
				code, _ = ask(ctx, h, "query", long)
			}
			first <- code
		})
	}
	full := false
	for deadline := time.Now().Add(30 * time.Second); !full && time.Now().Before(deadline); {
		soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		code, text := ask(soon, h, "query", long)
		cancel()
		full = code == http.StatusServiceUnavailable && strings.Contains(text, "the limit is 1, and csiglab serve --queries-waiting raises it")
	}
	if !full {
		t.Error("no query is refused while one works and one waits")
	}
	if code, text := ask(t.Context(), h, "query", url.Values{"query": {"csig_run_info"}, "time": {at}}); code != http.StatusOK {
		t.Errorf("a short query meanwhile: %d, %s", code, text)
	}
	leave()
	ended := make(chan struct{})
	go func() {
		group.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // the query's time is a minute
		t.Fatal("queries go on after their clients have gone")
	}
	for range 2 {
		if code := <-first; code < 400 {
			t.Errorf("a query whose client has gone: %d", code)
		}
	}
}

// A query that waits has an end too, and so has one that works.
func TestTime(t *testing.T) {
	_, h, run := loaded(t, limits.Limits{Queries: 1, Time: 300 * time.Millisecond, Samples: 1e9, Memory: 100 * units.GB})
	long := url.Values{"query": {slow}, "time": {fmt.Sprint(run.To.Unix())}}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			code, text := ask(t.Context(), h, "query", long)
			if code != http.StatusServiceUnavailable || !strings.Contains(text, "the limit is 300ms, and csiglab serve --query-time raises it") && !strings.Contains(text, "the limit is 1, and csiglab serve --queries raises it") {
				t.Errorf("%d, %s", code, text)
			}
		})
	}
	group.Wait()
}

// A query that needs more memory than queries may have ends, and the server goes on.
func TestMemory(t *testing.T) {
	checkout.SkipSlowRace(t)
	s, _, run := loaded(t, limits.Limits{Time: time.Hour, Samples: 1e9, Memory: 16 * units.MB})
	const large = `sum_over_time(count_values("a", {__name__=~"csig_.+"} or vector(1))[400s:10ms])`
	_, err := s.Query(t.Context(), large, time.Time{}, run.To, 0)
	var limit *promserver.LimitError
	if !errors.As(err, &limit) || limit.Flag != limits.FlagMemory {
		t.Errorf("got %v, want --query-memory", err)
	}
	if m, err := s.Query(t.Context(), "csig_run_info", time.Time{}, run.To.Add(-time.Millisecond), 0); err != nil || len(m) == 0 {
		t.Errorf("after it: %v, %v", m, err)
	}
	if _, err := s.Query(t.Context(), `csig_port_queue_bytes offset -50y`, time.Time{}, run.To, 0); err != nil {
		t.Error(err)
	}
}
