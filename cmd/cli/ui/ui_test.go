package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// policy is that of the pages of fakeReports.
const policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"

// fakeReports makes pages that name what they are of.
type fakeReports struct {
	made  atomic.Int32
	wait  chan struct{} // closed: pages are made; nil: at once
	ended atomic.Int32  // that were given up
	err   error
	page  string // in place of its own
}

func (f *fakeReports) write(ctx context.Context, w io.Writer, what string) error {
	f.made.Add(1)
	if f.wait != nil {
		select {
		case <-f.wait:
		case <-ctx.Done():
			f.ended.Add(1)
			return ctx.Err()
		}
	}
	if f.err != nil {
		return f.err
	}
	if f.page != "" {
		what = f.page
	} else {
		what = `<meta http-equiv="Content-Security-Policy" content="` + strings.ReplaceAll(policy, "'", "&#39;") + `"><p>` + what
	}
	_, err := io.WriteString(w, what)
	return err
}

func (f *fakeReports) Report(ctx context.Context, folder string, w io.Writer) error {
	return f.write(ctx, w, "report of "+folder)
}

func (f *fakeReports) Compare(ctx context.Context, a, b string, w io.Writer) error {
	return f.write(ctx, w, "comparison of "+a+" and "+b)
}

// planted returns a folder with a run folder of each name.
func planted(t testing.TB, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	one := os.DirFS(readingtest.ThreeFlow().Folder(t, nil).Dir)
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, name), one); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func plant(t testing.TB, dir, name string, change func(*runfolder.Manifest, *runfolder.Summary)) {
	t.Helper()
	if err := os.Rename(readingtest.ThreeFlow().Folder(t, change).Dir, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// server is a Server of a test.
func server(dir string, reports Reports, under ...runs.Run) *Server {
	return New(Config{Folder: dir, Reports: reports, List: func(context.Context) ([]runs.Run, error) { return under, nil }})
}

// get asks as a user at the address line does.
func get(s *Server, path string) *httptest.ResponseRecorder {
	return ask(s, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil))
}

func ask(s *Server, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// Requests that another site may have caused, and all but reading, are refused.
func TestRefusals(t *testing.T) {
	s := server(planted(t, "a"), &fakeReports{})
	for _, c := range []struct {
		method, host, path, site string
		status                   int
	}{
		{"GET", "localhost", "/", "", 200},
		{"GET", "LOCALHOST:8420", "/", "none", 200},
		{"GET", "127.0.0.1:8420", "/", "same-origin", 200},
		{"GET", "[::1]:8420", "/run/a", "same-origin", 200},
		{"HEAD", "localhost", "/", "", 200},
		{"GET", "evil.example", "/", "", 403},
		{"GET", "127.0.0.1.evil.example:8420", "/", "", 403},
		{"GET", "localhost.", "/", "", 403},
		{"GET", "192.168.1.7:8420", "/", "", 403},
		{"GET", "0.0.0.0", "/", "", 403},
		{"GET", "", "/", "", 403},
		{"GET", "localhost", "/", "cross-site", 403},
		{"GET", "localhost", "/run/a", "same-site", 403}, // another port of this machine
		{"POST", "localhost", "/", "", 405},
		{"PUT", "localhost", "/run/a", "", 405},
		{"DELETE", "localhost", "/run/a", "", 405},
		{"OPTIONS", "localhost", "/", "", 405},
		{"CONNECT", "localhost", "/", "", 405},
	} {
		r := httptest.NewRequest(c.method, "http://localhost"+c.path, nil)
		r.Host = c.host
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		w := ask(s, r)
		if w.Code != c.status {
			t.Errorf("%v: status %d", c, w.Code)
		}
		for name := range headers {
			if w.Header().Get(name) == "" {
				t.Errorf("%v: no %s", c, name)
			}
		}
		if w.Header().Get("Set-Cookie") != "" || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "default-src 'none'; ") ||
			!strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%v: %v", c, w.Header())
		}
	}
}

// A request with a body is refused before the body comes.
func TestBody(t *testing.T) {
	s := server(planted(t, "a"), &fakeReports{})
	c, err := net.Dial("tcp", strings.TrimPrefix(serveNow(t, s), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // it is open
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\nx"); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if r.StatusCode != 400 || !r.Close {
		t.Errorf("status %d, close %v", r.StatusCode, r.Close)
	}
}

// Only what is in the list can be opened: no path, no link, no file, and nothing above.
func TestNames(t *testing.T) {
	dir := planted(t, "a")
	outside := planted(t, "secret")
	secret := filepath.Join(outside, "secret")
	if err := errors.Join(os.Symlink(secret, filepath.Join(dir, "link")), os.Symlink(filepath.Join(dir, "a"), filepath.Join(dir, "inner")),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o644), os.Mkdir(filepath.Join(dir, "other"), 0o755),
		os.Mkdir(filepath.Join(dir, "sly"), 0o755), os.Symlink(filepath.Join(secret, "manifest.json"), filepath.Join(dir, "sly", "manifest.json"))); err != nil {
		t.Fatal(err)
	}
	s := server(dir, &fakeReports{})
	relative, err := filepath.Rel(dir, secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "inner", "file", "other", "sly", ".", "..", "", secret, relative, "a/.", "a/../a", "../" + filepath.Base(dir) + "/a", "a\x00", "a/manifest.json", "A"} {
		for _, path := range []string{"/run/" + url.PathEscape(name), "/compare?" + url.Values{"a": {"a"}, "b": {name}}.Encode(), "/compare?" + url.Values{"b": {"a"}, "a": {name}}.Encode()} {
			if w := get(s, path); w.Code == 200 || strings.Contains(w.Body.String(), "report of") || strings.Contains(w.Body.String(), "comparison of") {
				t.Errorf("%s: status %d, %s", path, w.Code, w.Body)
			}
		}
	}
	for _, path := range []string{"/nope", "/run", "/run/a/b", "/lab/x", "/lab/..%2f"} {
		if w := get(s, path); w.Code != 404 {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if list := get(s, "/").Body.String(); strings.Contains(list, "secret") || strings.Contains(list, "link") && strings.Contains(list, ">link<") || strings.Contains(list, ">sly<") {
		t.Errorf("the list has what is not in the folder:\n%s", list)
	}
}

// Pages are shown with the policy that they have themselves, and not without one.
func TestPages(t *testing.T) {
	dir := planted(t, "a", "b c%2f?&#")
	reports := &fakeReports{}
	s := server(dir, reports)
	w := get(s, "/run/a")
	if want := "report of " + filepath.Join(dir, "a"); w.Code != 200 || !strings.Contains(w.Body.String(), want) || w.Header().Get("Content-Security-Policy") != policy+"; frame-ancestors 'none'" {
		t.Errorf("status %d, %v\n%s", w.Code, w.Header(), w.Body)
	}
	other := filepath.Join(dir, "b c%2f?&#")
	w = get(s, "/compare?"+url.Values{"a": {filepath.Base(other)}, "b": {"a"}}.Encode())
	if want := "comparison of " + other + " and " + filepath.Join(dir, "a"); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
	link := regexp.MustCompile(`href="(/run/b[^"]*)"`).FindStringSubmatch(get(s, "/").Body.String())
	if link == nil {
		t.Fatal("no link")
	}
	if w := get(s, html.UnescapeString(link[1])); w.Code != 200 {
		t.Errorf("%s: status %d", link[1], w.Code)
	}
	if got := reports.made.Load(); got != 3 {
		t.Errorf("%d pages were made", got)
	}
	for range 3 { // kept
		get(s, "/run/a")
	}
	if got := reports.made.Load(); got != 3 {
		t.Errorf("a page that was kept was made again: %d", got)
	}
	later := time.Now().Add(time.Second)
	if err := os.Chtimes(filepath.Join(dir, "a", "manifest.json"), later, later); err != nil {
		t.Fatal(err)
	}
	if get(s, "/run/a"); reports.made.Load() != 4 {
		t.Error("a folder that has changed has its old page")
	}
	for _, page := range []string{"<p>no policy", `<meta http-equiv="Content-Security-Policy" content="script-src *">`,
		strings.Repeat(" ", policyWithin) + `<meta http-equiv="Content-Security-Policy" content="default-src 'none';">`,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';&#10;X: y\">"} {
		if w := get(server(dir, &fakeReports{page: page}), "/run/a"); w.Code != 422 || w.Header().Get("Content-Security-Policy") != ownPolicy() {
			t.Errorf("%.60q: status %d, %v", page, w.Code, w.Header())
		}
	}
	w = get(server(dir, &fakeReports{err: errors.New("ports.parquet: <b>damaged</b>")}), "/run/a")
	if w.Code != 422 || !strings.Contains(w.Body.String(), "ports.parquet: &lt;b&gt;damaged") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
}

// row returns the text of a folder's line of the list, with single blanks.
func row(t *testing.T, s *Server, name string) string {
	t.Helper()
	list := get(s, "/").Body.String()
	for _, line := range strings.Split(list, "<tr>") {
		text := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(line, " ")), " ")
		if strings.Contains(line, "<bdi>"+name) {
			return text
		}
	}
	t.Fatalf("%s is not in the list:\n%s", name, list)
	return ""
}

// Each line says how it is with its folder, also where that cannot be read.
func TestStates(t *testing.T) {
	dir := planted(t, "good")
	plant(t, dir, "bad", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations[1].OK = false })
	plant(t, dir, "wrong", func(_ *runfolder.Manifest, s *runfolder.Summary) {
		s.Valid, s.Reasons = false, []string{"<script>alert(1)</script>"}
	})
	plant(t, dir, "plain", func(_ *runfolder.Manifest, s *runfolder.Summary) { s.Expectations = nil })
	for name, damage := range map[string]func(path string) error{
		"cut":     func(path string) error { return os.Truncate(filepath.Join(path, "manifest.json"), 100) },
		"empty":   func(path string) error { return os.Truncate(filepath.Join(path, "manifest.json"), 0) },
		"lacking": func(path string) error { return os.Remove(filepath.Join(path, "summary.json")) },
		"newer": func(path string) error {
			return os.WriteFile(filepath.Join(path, "manifest.json"), []byte(`{"schema":99}`), 0o644)
		},
		"strange": func(path string) error {
			return os.WriteFile(filepath.Join(path, "manifest.json"), []byte(`[{"a":`), 0o644)
		},
		"huge": func(path string) error { return os.Truncate(filepath.Join(path, "manifest.json"), 1<<40) },
	} {
		if err := errors.Join(os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, "good"))), damage(filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"verdicts/verdict.json", "points/sweep.json", "merged/results.parquet"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("{}"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s := server(dir, &fakeReports{})
	for name, want := range map[string]struct {
		text   string
		status int // of its page
	}{
		"good":     {"passed 2 of 2 expectations held", 200},
		"bad":      {"failed 1 of 2 expectations failed", 200},
		"wrong":    {"not valid &lt;script&gt;alert(1)&lt;/script&gt;", 200},
		"plain":    {"done no expectations", 200},
		"cut":      {"damaged manifest.json: ", 409},
		"empty":    {"damaged manifest.json: ", 409},
		"lacking":  {"damaged ", 409},
		"newer":    {"not readable manifest.json has schema 99", 409},
		"strange":  {"damaged manifest.json: ", 409},
		"huge":     {"damaged manifest.json: ", 409},
		"verdicts": {"verdict", 200},
		"points":   {"sweep", 200},
		"merged":   {"sweep", 200},
	} {
		if got := row(t, s, name); !strings.Contains(got, want.text) {
			t.Errorf("%s: %s", name, got)
		}
		if w := get(s, "/run/"+name); w.Code != want.status {
			t.Errorf("%s: status %d", name, w.Code)
		}
	}
}

// A folder that is being written says how far it is, and has no page; then it has.
func TestGrowing(t *testing.T) {
	dir := t.TempDir()
	e := readingtest.ThreeFlow()
	complete := e.Folder(t, nil)
	m := complete.Manifest
	m.Runs, m.Tables, m.Files = nil, nil, nil
	m.Missing = []runfolder.VariantSeeds{{Variant: m.Variants[0].Name, Seeds: []uint64{1, 2}}, {Variant: m.Variants[1].Name, Seeds: []uint64{1, 2}}}
	writer, err := runfolder.Create(filepath.Join(dir, "growing"), m)
	if err != nil {
		t.Fatal(err)
	}
	s := server(dir, &fakeReports{})
	if got := row(t, s, "growing"); !strings.Contains(got, "running 0 of 4 runs have finished") || !strings.Contains(got, "3 × 2") {
		t.Error(got)
	}
	var node = e.Results[m.Variants[0].Name]
	if err := readingtest.AddRun(writer, m.Variants[0].Name, 1, node, runfolder.RunData{TraceHash: [32]byte{1}, Checks: []runfolder.Check{{Name: "conservation", OK: true}}}); err != nil {
		t.Fatal(err)
	}
	if got := row(t, s, "growing"); !strings.Contains(got, "running 1 of 4 runs have finished") {
		t.Error(got)
	}
	if part := get(s, "/underway").Body.String(); !strings.Contains(part, "1 of 4 runs have finished") || strings.Contains(part, "<html") {
		t.Error(part)
	}
	if w := get(s, "/run/growing"); w.Code != 409 || !strings.Contains(w.Body.String(), "running: 1 of 4 runs") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
	if err := writer.Abort("interrupted"); err != nil {
		t.Fatal(err)
	}
	if got := row(t, s, "growing"); !strings.Contains(got, "incomplete 1 of 4 runs; interrupted") {
		t.Error(got)
	}
	if w := get(s, "/run/growing"); w.Code != 200 {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
	if part := get(s, "/underway").Body.String(); !strings.Contains(part, "No run is under way") {
		t.Error(part)
	}
}

// hostile are names that would change the page around them.
var hostile = []string{`"><script>hacked=1<`, `<img src=x onerror=hacked=1>`, "{{.}}", "\u202egnp.exe", "' onclick='hacked=1", "&lt;b&gt;", "A B", strings.Repeat("long", 60), "-rf"}

// Names of folders, experiments and runs are text, and lead to their folders.
func TestHostileNames(t *testing.T) {
	dir := planted(t, append(hostile, "line\nbreak", "no\xffutf8")...)
	plant(t, dir, "of a stranger", func(m *runfolder.Manifest, s *runfolder.Summary) {
		m.Name, s.Name = `</td><script>hacked=1</script>`+"\u202e", `</td><script>hacked=1</script>`+"\u202e"
	})
	s := server(dir, &fakeReports{}, runs.Run{ID: `"><script>`, Name: `<script>hacked=1</script>`, Runtime: `<b>`, State: runs.Dead, Folder: "</td>\u202e"})
	page := get(s, "/?q=").Body.String()
	if n := strings.Count(page, "<script>"); n != 1 || strings.Contains(regexp.MustCompile(`(value|href)="[^"]*"`).ReplaceAllString(page, ""), "\u202e") ||
		strings.Contains(page, "<img") || strings.Contains(page, "<b>") {
		t.Errorf("%d scripts\n%s", n, page)
	}
	links := regexp.MustCompile(`href="(/run/[^"]*)"`).FindAllStringSubmatch(page, -1)
	if len(links) != len(hostile)+1 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if w := get(s, html.UnescapeString(link[1])); w.Code != 200 {
			t.Errorf("%s: status %d", link[1], w.Code)
		}
	}
	if got := row(t, s, "line"); !strings.Contains(got, "not shown") {
		t.Error(got)
	}
	if w := get(s, "/?q="+url.QueryEscape(`"><script>hacked=1</script>`)); strings.Count(w.Body.String(), "<script>") != 1 {
		t.Error("the query is not text")
	}
}

// Thousands of folders: a page has fifty of them, the latest first, and is fast.
func TestManyFolders(t *testing.T) {
	checkout.SkipSlowRace(t)
	const folders = 3000
	dir := planted(t, "run-0000")
	text, err := os.ReadFile(filepath.Join(dir, "run-0000", "manifest.json"))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now().Add(-time.Hour)
	for i := range folders {
		path := filepath.Join(dir, fmt.Sprintf("run-%04d", i))
		at := begin.Add(time.Duration(i) * time.Second)
		if err := errors.Join(os.MkdirAll(path, 0o755), os.WriteFile(filepath.Join(path, "manifest.json"), text, 0o644), os.Chtimes(filepath.Join(path, "manifest.json"), at, at)); err != nil {
			t.Fatal(err)
		}
	}
	s := server(dir, &fakeReports{})
	rows := func(path string) (names []string) {
		began := time.Now()
		for _, m := range regexp.MustCompile(`<bdi>(run-[0-9]{4})`).FindAllStringSubmatch(get(s, path).Body.String(), -1) {
			names = append(names, m[1])
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s took %v", path, took)
		} else {
			t.Logf("%s took %v", path, took)
		}
		return names
	}
	for _, c := range []struct {
		path        string
		n           int
		first, last string
	}{
		{"/", 50, "run-2999", "run-2950"},
		{"/?page=2", 50, "run-2949", "run-2900"},
		{"/?page=60", 50, "run-0049", "run-0000"},
		{"/?page=61", 50, "run-0049", "run-0000"},
		{"/?page=-1", 50, "run-2999", "run-2950"},
		{"/?page=99999999999999999999", 50, "run-2999", "run-2950"},
		{"/?q=RUN-12", 50, "run-1299", "run-1250"},
		{"/?q=run-0007", 1, "run-0007", "run-0007"},
		{"/?q=nothing", 0, "", ""},
	} {
		names := rows(c.path)
		if len(names) != c.n || c.n > 0 && (names[0] != c.first || names[c.n-1] != c.last) {
			t.Errorf("%s: %d, %q", c.path, len(names), names)
		}
	}
}

// Readers of one page wait for it together, and it is given up when the last one goes.
func TestReaders(t *testing.T) {
	reports := &fakeReports{wait: make(chan struct{})}
	s := server(planted(t, "a", "b", "c"), reports)
	answers := make(chan int)
	reader := func(ctx context.Context, path string) {
		go func() {
			answers <- ask(s, httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil).WithContext(ctx)).Body.Len()
		}()
	}
	first, leave := context.WithCancel(t.Context())
	reader(first, "/run/a")
	until(t, func() bool { return reports.made.Load() == 1 })
	reader(t.Context(), "/run/a")
	until(t, func() bool { return s.pages.readersOf(0) == 2 })
	leave()
	if n := <-answers; n != 0 {
		t.Errorf("a reader who has gone got %d bytes", n)
	}
	if n := reports.ended.Load(); n != 0 {
		t.Error("a page was given up that another reader waits for")
	}
	alone, leave := context.WithCancel(t.Context())
	reader(alone, "/run/b")
	until(t, func() bool { return reports.made.Load() == 2 })
	leave()
	<-answers
	until(t, func() bool { return reports.ended.Load() == 1 })
	close(reports.wait)
	if n := <-answers; n == 0 {
		t.Error("the second reader got nothing")
	}
	if w := get(s, "/run/b"); w.Code != 200 {
		t.Errorf("a page that was given up is not made again: %d", w.Code)
	}
}

// readersOf returns how many read the page that is being made, if it is the only one.
func (p *pages) readersOf(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.made {
		n += one.readers
	}
	return n
}

func until(t *testing.T, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come")
		}
	}
}

// No more than two pages are made at a time, and so many wait; the end ends all.
func TestBusy(t *testing.T) {
	var names []string
	for i := range mostWaiting + 2 {
		names = append(names, fmt.Sprint("r", i))
	}
	reports := &fakeReports{wait: make(chan struct{})}
	s := server(planted(t, names...), reports)
	answers := make(chan int, len(names))
	for _, name := range names {
		go func() { answers <- get(s, "/run/"+name).Code }()
	}
	for range 2 {
		if code := <-answers; code != http.StatusServiceUnavailable {
			t.Errorf("status %d", code)
		}
	}
	until(t, func() bool { return reports.made.Load() == mostMaking })
	if w := get(s, "/"); w.Code != 200 {
		t.Errorf("the list waits for pages: %d", w.Code)
	}
	s.pages.end()
	for range mostWaiting {
		if code := <-answers; code != http.StatusUnprocessableEntity {
			t.Errorf("status %d", code)
		}
	}
	if n := reports.made.Load(); n != mostMaking {
		t.Errorf("%d pages were begun, some of them after the end", n)
	}
}

// What is kept has a bound, and so has a page.
func TestKept(t *testing.T) {
	checkout.SkipSlowRace(t)
	p := newPages()
	big := func(n int) maker {
		return func(_ context.Context, w io.Writer) error {
			_, err := w.Write(make([]byte, n))
			return err
		}
	}
	for i := range 5 {
		if _, err := p.get(t.Context(), fmt.Sprint(i), big(40<<20)); err != nil {
			t.Fatal(err)
		}
		p.get(t.Context(), "0", big(40<<20)) //nolint:errcheck // it is read again and again, and stays
	}
	if p.bytes != 3*40<<20 || len(p.kept) != 3 || len(p.made) != 3 || p.made["0"] == nil || p.made["4"] == nil {
		t.Errorf("%d bytes, %q", p.bytes, p.kept)
	}
	if _, err := p.get(t.Context(), "too large", big(mostPage+1)); err == nil || err.Error() != "it has more than 64 MB" {
		t.Error(err)
	}
	if p.made["too large"] != nil {
		t.Error("a page that failed is kept")
	}
}
