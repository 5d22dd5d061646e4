package ui

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/reports"
	"github.com/csiglab/csiglab/reports/browsertest"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// serveNow serves until the test ends, and returns the address.
func serveNow(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // this machine
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

// reportText returns a report with a script of its own.
func reportText(t *testing.T) string {
	t.Helper()
	f, err := runfolder.Open(readingtest.ThreeFlow().Folder(t, nil).Dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := reports.Read(f, func(string) meaning.Meaning { return meaning.Meaning{} })
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// In a browser the page fits its window in both schemes, keeps to its policy, follows what is
// under way, and leads to reports and comparisons, whose scripts run. Hostile names do nothing.
func TestBrowser(t *testing.T) {
	ctx := browsertest.Tab(t)
	dir := planted(t, hostile...)
	plant(t, dir, "plain", nil)
	page := serveNow(t, server(dir, &fakeReports{page: reportText(t)},
		runs.Run{ID: "1f", Name: "<script>hacked=1</script>", Runtime: "netns", Clock: "wall", State: runs.Running, Folder: "/" + strings.Repeat("folder/", 40)})) + "/"
	watch := browsertest.Listen(ctx, t, page)
	for _, c := range []struct {
		name, scheme string
		width        int64
	}{{"wide", "light", 1400}, {"wide-dark", "dark", 1400}, {"narrow", "light", 420}, {"narrow-dark", "dark", 420}} {
		browsertest.Look(ctx, t, page, "screen", c.scheme, c.width)
		browsertest.KeepShot(ctx, t, "ui-"+c.name+".png", chromedp.FullScreenshot(100))
		if browsertest.Do(ctx, t, chromedp.Evaluate[bool](`document.documentElement.scrollWidth > document.documentElement.clientWidth`)) {
			t.Errorf("%s: the page is wider than its window", c.name)
		}
		if background := browsertest.Do(ctx, t, chromedp.Evaluate[string](`getComputedStyle(document.body).backgroundColor`)); (background == "rgb(255, 255, 255)") != (c.scheme == "light") {
			t.Errorf("%s: background %s", c.name, background)
		}
	}
	at := browsertest.Do(ctx, t, chromedp.Evaluate[string](`document.querySelector('#underway > p').textContent`))
	browsertest.Do(ctx, t, chromedp.Evaluate[bool](`document.querySelectorAll('input[name=a]')[0].checked = true`))
	until(t, func() bool {
		return browsertest.Do(ctx, t, chromedp.Evaluate[string](`document.querySelector('#underway > p').textContent`)) != at
	})
	if !browsertest.Do(ctx, t, chromedp.Evaluate[bool](`document.querySelectorAll('input[name=a]')[0].checked && typeof hacked === 'undefined'`)) {
		t.Error("the choice is gone, or a name has done something")
	}
	browsertest.Do(ctx, t, chromedp.Evaluate[bool](`(() => { document.querySelectorAll('input[name=b]')[1].checked = true; document.querySelector('.choose button').click(); return true })()`))
	until(t, func() bool {
		return browsertest.Do(ctx, t, chromedp.Evaluate[bool](`location.pathname === '/compare' && document.querySelectorAll('svg').length > 5`))
	})
	_, problems := watch.Seen()
	problems = slices.DeleteFunc(problems, func(p string) bool { return strings.HasPrefix(p, "request for "+page) })
	if len(problems) > 0 {
		t.Errorf("%q", problems)
	}
}
