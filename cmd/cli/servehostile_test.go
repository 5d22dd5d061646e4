package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/promserver/limits"
)

// hostileQuery is a request that asks too much of a server.
type hostileQuery struct {
	name string
	path string
	form url.Values
	flag string // which raises the limit; "": it may be answered, or end at a limit of any kind
	body string // instead of the form
	head string // its type
}

const everything = `{__name__=~".+"}`

// hostileQueries returns queries of many kinds for a run that lasts from one second to another.
func hostileQueries(from, to float64) (list []hostileQuery) {
	instant := func(name, query, flag string) {
		list = append(list, hostileQuery{name: name, path: "query", form: url.Values{"query": {query}, "time": {seconds(to - 0.1)}}, flag: flag})
	}
	each := func(name, query, step, flag string) {
		list = append(list, hostileQuery{name: name, path: "query_range", form: url.Values{"query": {query}, "start": {seconds(from)}, "end": {seconds(to)}, "step": {step}}, flag: flag})
	}
	other := func(name, path, key, flag string, values ...string) {
		list = append(list, hostileQuery{name: name, path: path, form: url.Values{key: values}, flag: flag})
	}
	nested := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	instant("100,000 nested abs()", nested("abs(", "vector(1)", ")", 100_000), limits.FlagLength)
	instant("10,000 nested abs()", nested("abs(", "vector(1)", ")", 10_000), limits.FlagDepth)
	instant("4000 signs before a vector", strings.Repeat("-", 4000)+"vector(1)", limits.FlagDepth)
	instant("a sum of 2000 numbers", strings.Repeat("1+", 2000)+"1", limits.FlagDepth)
	instant("a function of 10,000 arguments", `label_join(up,"a",""`+strings.Repeat(`,"b"`, 10_000)+")", limits.FlagNodes)
	instant("2500 nested subqueries", nested("max_over_time(", "up", "[1m:1s])", 2500), limits.FlagDepth)
	instant("a subquery of 100 years by 1 ms", "sum_over_time(vector(1)[100y:1ms])", limits.FlagSamples)
	instant("a window of a million for each of a million steps", "max_over_time(max_over_time(vector(time())[1000s:1ms])[1000s:1ms])", limits.FlagTime)
	instant("40 subqueries, of a day each", nested("max_over_time(", everything, "[1d:1m])", 40), "")
	each("count_values over everything", `count_values("v", `+everything+")", "0.002", "")
	each("count_values within count_values", `count_values("a", count_values("b", `+everything+"))", "0.002", "")
	instant("label_join that doubles 40 times", nested("label_join(", "csig_port_queue_bytes", `,"x","","port","x","x")`, 40), limits.FlagMemory)
	instant("a replacement of 60 kB for everything", `label_replace(`+everything+`,"x","`+strings.Repeat("y", 60_000)+`","port",".*")`, limits.FlagMemory)
	instant("a regular expression that repeats", `{port=~"((a?){30}){30}.*((b?){30}){30}((c*){30}){30}((d*){30}){30}((e*){30}){30}((f*){30}){30}"}`, limits.FlagNodes)
	instant("15,000 classes of Unicode", `{port=~"`+strings.Repeat(`\\pL`, 15_000)+`"}`, limits.FlagNodes)
	instant("a slow regular expression on all labels", `label_replace(`+everything+`,"x","$1","port","((((.?){40}){20})*)+")`, limits.FlagTime)
	each("everything at each millisecond", everything, "0.001", "")
	each("a step of a nanosecond", "vector(1)", "1e-9", "")
	list = append(list, hostileQuery{name: "a range of 500,000 years", path: "query_range", form: url.Values{"query": {everything}, "start": {"-9e12"}, "end": {"9e12"}, "step": {"9e9"}}})
	instant("all samples of everything", everything+"[10y]", "")
	each("topk of everything", "topk(100000, "+everything+")", "0.002", "")
	each("rate of everything over years", "rate("+everything+"[10y])", "0.002", "")
	each("sorted quantiles of everything", "sort(quantile by (__name__, port, le) (0.5, "+everything+"))", "0.002", "")
	each("a join of everything with everything", everything+` * on (run) group_left () `+everything, "0.002", "")
	each("everything or everything, 40 times", nested("(", everything, " or on (x) "+everything+")", 40), "0.002", "")
	instant("91 selectors of everything", "count("+strings.Repeat(everything+" or ", 90)+everything+")", "")
	instant("a look back of 100 years", everything+" offset -50y", "")
	other("series of everything, 300 times", "series", "match[]", "", strings.Split(strings.TrimSuffix(strings.Repeat(everything+"\n", 300), "\n"), "\n")...)
	other("labels by 4000 selectors", "labels", "match[]", limits.FlagNodes, strings.Split(strings.TrimSuffix(strings.Repeat("{a=\"b\"}\n", 4000), "\n"), "\n")...)
	other("format_query of 10,000 brackets", "format_query", "query", limits.FlagDepth, nested("(", "1", ")", 10_000))
	other("parse_query of 10,000 brackets", "parse_query", "query", limits.FlagDepth, nested("(", "1", ")", 10_000))
	other("exemplars of 10,000 brackets", "query_exemplars", "query", limits.FlagDepth, nested("(", "up", ")", 10_000))
	list = append(list,
		hostileQuery{name: "a form of 5 MB", path: "query", body: "query=" + strings.Repeat("1", 5_000_000), head: "application/x-www-form-urlencoded", flag: limits.FlagLength},
		hostileQuery{name: "a form of 5 MB in parts", path: "query", body: "--x\r\nContent-Disposition: form-data; name=\"query\"\r\n\r\n" + strings.Repeat("1", 5_000_000) + "\r\n--x--\r\n", head: "multipart/form-data; boundary=x", flag: limits.FlagLength},
		// The head of a packed text says that it has 4 GB.
		hostileQuery{name: "remote read of 4 GB", path: "read", body: "\xff\xff\xff\xff\x0f\x00", head: "application/x-protobuf"},
	)
	return list
}

// seconds prints a time as the API reads it.
func seconds(t float64) string { return strconv.FormatFloat(t, 'f', 3, 64) }

// answered is what a server answered.
type answered struct {
	code int
	text string // of the error
	took time.Duration
}

// ask sends a request and reads its answer.
func (h *hostileQuery) ask(ctx context.Context, base string) (a answered, err error) {
	body, head := h.body, h.head
	if body == "" {
		body, head = h.form.Encode(), "application/x-www-form-urlencoded"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/api/v1/"+h.path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", head)
	began := time.Now()
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	start := make([]byte, 4096)
	n, err := io.ReadFull(response.Body, start)
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	a = answered{code: response.StatusCode, took: time.Since(began)}
	if a.code >= http.StatusBadRequest {
		var e struct{ Status, Error string }
		if wrong := json.Unmarshal(bytes.TrimSpace(start[:n]), &e); wrong != nil || e.Status != "error" || e.Error == "" {
			return a, fmt.Errorf("status %d has no error of the API: %.200q", a.code, start[:n])
		}
		a.text = e.Error
	}
	return a, err
}

// bystander asks a server for its health and a short query again and again, and keeps how
// long the slowest answers took.
type bystander struct {
	mu             sync.Mutex
	asked          int
	health, simple time.Duration
	err            error
}

func (b *bystander) watch(ctx context.Context, base string) {
	simple := base + "/api/v1/query?" + url.Values{"query": {"count(csig_run_info or vector(1))"}}.Encode()
	client := &http.Client{Transport: &http.Transport{}} // with connections of its own
	for ctx.Err() == nil {
		for _, address := range []string{base + "/-/healthy", simple} {
			began := time.Now()
			r, err := client.Get(address) //nolint:noctx // this machine
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
				r.Body.Close() // it has been read
				if err == nil && r.StatusCode != http.StatusOK {
					err = fmt.Errorf("%s: %s", address, r.Status)
				}
			}
			took := time.Since(began)
			b.mu.Lock()
			b.asked++
			if err != nil && b.err == nil {
				b.err = err
			}
			if address == simple {
				b.simple = max(b.simple, took)
			} else {
				b.health = max(b.health, took)
			}
			b.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	client.CloseIdleConnections()
}

// take returns what has been measured since the last call.
func (b *bystander) take() (asked int, health, simple time.Duration, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	asked, health, simple, err = b.asked, b.health, b.simple, b.err
	b.asked, b.health, b.simple, b.err = 0, 0, 0, nil
	return asked, health, simple, err
}

// peak returns the largest memory of a process since the last call, in bytes.
func peak(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if bytes, err = strconv.ParseInt(strings.Fields(rest)[0], 10, 64); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return bytes << 10
}

// What TestServeHostileQueries holds, on a machine that does much else.
const (
	queriesMemory = 500 << 20 // --query-memory
	besideQueries = 700 << 20 // what the server has, and what grows before a query is ended
	othersWait    = 10 * time.Second
)

// TestServeHostileQueries gives a server hostile queries of more than 20 kinds, and 500 of
// them at once. Each is answered, or refused in words that name a limit; the memory of the
// server stays within bounds, and its health and a short query of another client are
// answered meanwhile. Without CSIGLAB_E2E=1 it gives it those that are refused at once.
func TestServeHostileQueries(t *testing.T) {
	checkout.SkipLong(t)
	checkout.SkipSlowRace(t)
	full := os.Getenv("CSIGLAB_E2E") != ""
	u := newTool(t, builtPrograms(t))
	k := 4
	if full {
		k = 8 // 32,000 series
	}
	if err := os.WriteFile(u.dir+"/big.yaml", fmt.Appendf(nil, "schema: 1\nname: big\ntopology: {k_ary: {k: %d, rate: 100Gbps, delay: 1us}}\nworkload: {permutation: {size: 10MB}}\n", k), 0o644); err != nil {
		t.Fatal(err)
	}
	u.want(command.ExitOK, "run", "big.yaml", "--out", "big", "--no-report")
	s := u.serve("big", "--query-memory", fmt.Sprint(queriesMemory, "B"))
	pid := s.cmd.Process.Pid
	from, to := s.timeRange()
	queries := hostileQueries(from, to)
	if len(queries) < 20 {
		t.Errorf("%d kinds, want 20", len(queries))
	}
	before := peak(t, pid)
	ctx, stop := context.WithCancel(t.Context())
	var other bystander
	var group sync.WaitGroup
	group.Go(func() { other.watch(ctx, s.base) })
	defer group.Wait()
	defer stop()
	t.Logf("the server has %d MB before", before>>20)
	row := func(name, answer string, took time.Duration) {
		memory := peak(t, pid)
		asked, health, simple, err := other.take()
		t.Logf("| %s | %s | %.2f s | %d MB | %d, %d ms |", name, answer, took.Seconds(), memory>>20, health.Milliseconds(), simple.Milliseconds())
		if err != nil || health > othersWait || simple > othersWait {
			t.Errorf("%s: meanwhile %d requests of another client: health %v, a query %v, %v", name, asked, health, simple, err)
		}
		if memory > queriesMemory+besideQueries {
			t.Errorf("%s: the server had %d MB", name, memory>>20)
		}
	}
	for _, q := range queries {
		if !full && q.flag == "" {
			continue
		}
		a, err := q.ask(t.Context(), s.base)
		if err != nil && q.body == "" { // a server that refuses a long body does not read it
			t.Errorf("%s: %v", q.name, err)
		}
		if a.code >= http.StatusInternalServerError && a.code != http.StatusServiceUnavailable || a.took > 40*time.Second {
			t.Errorf("%s: status %d after %v: %s", q.name, a.code, a.took, a.text)
		}
		if q.flag != "" && err == nil && !strings.Contains(a.text, "--"+q.flag+" ") {
			t.Errorf("%s: status %d: %.300q, want one that names --%s", q.name, a.code, a.text, q.flag)
		}
		answer := strconv.Itoa(a.code)
		if _, flag, ok := strings.Cut(a.text, "--"); ok {
			answer += " --" + strings.Fields(flag)[0]
		} else if a.text != "" {
			answer += fmt.Sprintf(" %.60s", a.text)
		}
		row(q.name, answer, a.took)
	}
	n := 50
	if full {
		n = 500
	}
	codes, slowest := map[int]int{}, time.Duration(0)
	var mu sync.Mutex
	var crowd sync.WaitGroup
	for i := range n {
		crowd.Go(func() {
			q := &queries[i%len(queries)]
			a, err := q.ask(t.Context(), s.base)
			mu.Lock()
			defer mu.Unlock()
			if err != nil && q.body == "" {
				t.Errorf("of %d at once, %s: %v", n, q.name, err)
			}
			codes[a.code]++
			slowest = max(slowest, a.took)
		})
	}
	crowd.Wait()
	row(fmt.Sprintf("%d of all kinds at once", n), fmt.Sprint(codes), slowest)
	stop()
	group.Wait()
	s.end()
}

// timeRange returns the time range of the only run of a server, in seconds, from its page.
func (s *served) timeRange() (from, to float64) {
	s.Helper()
	page := body(s.T, s.base+"/")
	found := regexp.MustCompile(`from=(\d+)&(?:amp;)?to=(\d+)`).FindStringSubmatch(page)
	if found == nil {
		s.Fatalf("no time range in %s", page)
	}
	for i, v := range []*float64{&from, &to} {
		ms, err := strconv.ParseInt(found[i+1], 10, 64)
		if err != nil {
			s.Fatal(err)
		}
		*v = float64(ms) / 1e3
	}
	return from, to
}
