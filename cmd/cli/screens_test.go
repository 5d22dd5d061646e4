package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/dashboards"
	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/metrics/series"
	"github.com/csiglab/csiglab/reports/browsertest"
)

// TestScreens looks at all dashboards in a real Grafana, at CSIGLAB_GRAFANA_URL with the token
// CSIGLAB_GRAFANA_TOKEN of a service account with the role Admin: in both themes, of four runs and a
// lab, and zoomed in to 50 us and 50 ms of the model. No request may fail, no panel may have an
// error, and none be empty without words and without a description of when it is. The pictures go to TEST_SCREENSHOTS.
func TestScreens(t *testing.T) {
	address, token := os.Getenv("CSIGLAB_GRAFANA_URL"), os.Getenv("CSIGLAB_GRAFANA_TOKEN")
	if address == "" {
		t.Skip("CSIGLAB_GRAFANA_URL is not set")
	}
	ownList(t)
	u := newTool(t, builtPrograms(t))
	secret := filepath.Join(u.dir, "token")
	if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	examples := filepath.Join(checkout.Repository(t), "docs", "examples")
	runs := map[string]string{"three-flow": "three-flow", "te-loop": "te-loop", "training-step": filepath.Join(examples, "small", "training-step.yaml"), "fragmented": filepath.Join(examples, "small", "fragmented.yaml")}
	names := []string{"three-flow", "te-loop", "training-step", "fragmented"}
	for _, name := range names {
		u.want(command.ExitOK, "run", runs[name], "--seeds", "1", "--no-report", "--out", name)
	}
	push := func(served ...string) {
		u.want(command.ExitOK, "grafana", "push", "--url", address, "--token-file", secret, "--datasource-url", u.serve(served...).base)
	}
	push(names...)
	themes := []string{"light", "dark"}
	for _, theme := range themes {
		for _, run := range names {
			from, to := u.timeOf(run)
			t.Run(run+" "+theme, func(t *testing.T) { look(t, address, token, run, theme, run+"-"+theme, from, to) })
		}
	}
	middle := series.Origin.Add(10 * time.Second)
	for _, width := range []time.Duration{50 * time.Millisecond, 50 * time.Second} {
		t.Run("zoom "+width.String(), func(t *testing.T) {
			look(t, address, token, "three-flow", "light", "zoom-"+width.String(), middle, middle.Add(width))
		})
	}
	// The lab takes the machine from the browser.
	lab := u.labForScreens(filepath.Join(examples, "lab.yaml"))
	if lab == "" {
		return
	}
	defer u.down(lab)
	push(lab)
	time.Sleep(5 * time.Second) // scrapes
	for _, theme := range themes {
		t.Run("lab "+theme, func(t *testing.T) {
			look(t, address, token, lab, theme, "lab-"+theme, time.Now().Add(-time.Minute), time.Now().Add(time.Second))
		})
	}
}

// labForScreens starts a lab, if this machine can have one, with some traffic.
func (u *tool) labForScreens(file string) (id string) {
	u.Helper()
	code, stdout, _ := u.run("", "up", file, "--json")
	if code != command.ExitOK {
		u.Log("no lab can be started here")
		return ""
	}
	return u.parse(stdout).ID
}

// screen is what a page of Grafana shows.
type screen struct {
	Panels, Errors, Empty []string
}

// screenOf finds the panels of a page by their titles, in Grafana 10 and 11.
const screenOf = `(() => {
	const o = {Panels: [], Errors: [], Empty: []}
	document.querySelectorAll('[data-testid^="data-testid Panel header"]').forEach(p => {
		const title = p.querySelector('h2,h6')?.innerText || p.getAttribute('data-testid')
		o.Panels.push(title)
		const body = p.innerText.replace(title, '').trim()
		if (p.querySelector('[aria-label="Panel status"],[data-testid="data-testid Panel status error"]') || /^(data does not|data is missing|no data|.*error:)/im.test(body)) o.Errors.push(title + ': ' + body)
		if (/^(not measured in the time shown|this run .*)$/i.test(body)) o.Empty.push(title)
	})
	return JSON.stringify(o)
})()`

// look opens each dashboard of a run, in a tab of its own, and checks what it shows.
func look(t *testing.T, address, token, run, theme, picture string, from, to time.Time) {
	// A page that asks again each few seconds is never done.
	query := url.Values{"refresh": {"1d"}, "theme": {theme}, "var-run": {run}, "var-datasource": {"csiglab"}, "from": {fmt.Sprint(from.UnixMilli())}, "to": {fmt.Sprint(to.UnixMilli())}}
	for _, d := range dashboards.All() {
		t.Run(d.UID, func(t *testing.T) {
			began := time.Now()
			lookAt(t, &d, address+"/d/"+d.UID+"/x?"+query.Encode(), token, picture+"-"+d.UID+".png")
			t.Logf("%.1f s", time.Since(began).Seconds())
		})
	}
}

func lookAt(t *testing.T, d *dashboards.Dashboard, page, token, picture string) {
	ctx := browsertest.Tab(t)
	traffic := &requests{open: map[network.RequestID]bool{}}
	if err := chromedp.Listen(ctx, traffic.hear); err != nil {
		t.Fatal(err)
	}
	browsertest.Call(ctx, t, network.Enable, network.EnableParams{})
	browsertest.Call(ctx, t, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": "Bearer " + token}})
	browsertest.Do(ctx, t, chromedp.EmulateViewport(1600, 6000)) // panels that are not in sight are not drawn
	browsertest.Do(ctx, t, chromedp.Navigate(page))
	traffic.wait(ctx, t)
	var s screen
	if err := json.Unmarshal([]byte(browsertest.Do(ctx, t, chromedp.Evaluate[string](screenOf))), &s); err != nil {
		t.Fatal(err)
	}
	browsertest.KeepShot(ctx, t, picture, chromedp.FullScreenshot(100))
	if failed := traffic.failures(); len(failed) > 0 {
		t.Errorf("%s: %s", d.UID, strings.Join(failed, "\n"))
	}
	if len(s.Panels) < 2 || len(s.Errors) > 0 {
		t.Errorf("%s: panels %q, errors in %q", d.UID, s.Panels, s.Errors)
	}
	for _, title := range s.Empty {
		if !mayBeEmpty(t, d, title) {
			t.Errorf("%s: panel %q is empty", d.UID, title)
		}
	}
}

// mayBeEmpty reports whether the description of a panel says which runs it is empty for. A panel
// that is repeated has a variable's value in its title.
func mayBeEmpty(t *testing.T, d *dashboards.Dashboard, title string) bool {
	t.Helper()
	var m dashboardModel
	if err := json.Unmarshal(d.JSON, &m); err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(m.Panels, func(p dashboardPanel) bool {
		fixed, _, repeated := strings.Cut(p.Title, "$")
		return (p.Title == title || repeated && strings.HasPrefix(title, fixed)) && (repeated || strings.Contains(p.Description, "Empty "))
	})
}

// requests are those of a tab.
type requests struct {
	mu     sync.Mutex
	open   map[network.RequestID]bool
	last   time.Time
	failed []string
}

func (r *requests) hear(event any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		// Others may be open as long as the page is.
		if r.last = time.Now(); strings.Contains(e.Request.URL, "/api/") && !strings.Contains(e.Request.URL, "/api/live") {
			r.open[e.RequestID] = true
		}
	case *network.EventLoadingFinished:
		delete(r.open, e.RequestID)
		r.last = time.Now()
	case *network.EventLoadingFailed:
		delete(r.open, e.RequestID)
		r.last = time.Now()
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			r.failed = append(r.failed, fmt.Sprintf("status %d of %s", int(e.Response.Status), e.Response.URL))
		}
	}
}

// wait returns when there has been no request for a while, or there have been some for half a
// minute.
func (r *requests) wait(ctx context.Context, t *testing.T) {
	t.Helper()
	const quiet = 2 * time.Second
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		r.mu.Lock()
		done := len(r.open) == 0 && time.Since(r.last) > quiet
		r.mu.Unlock()
		if done && browsertest.Do(ctx, t, chromedp.Evaluate[bool](`document.querySelectorAll('.react-grid-item').length > 2`)) {
			return
		}
	}
}

func (r *requests) failures() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list, r.failed = r.failed, nil
	return list
}
