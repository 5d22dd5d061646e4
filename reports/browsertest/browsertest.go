// Package browsertest lets tests look at pages with headless Chromium. Tests are skipped
// where that is not installed.
package browsertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/csiglab/csiglab/internal/checkout"
)

// chromium is the browser of all tests of a package, started by the first of them.
var chromium struct {
	sync.Once
	ctx context.Context // of its first tab
	end []func()
	err error
}

// Main runs the tests of a package, ends the browser and returns the exit code. A package's
// TestMain calls it.
func Main(m *testing.M) int {
	code := m.Run()
	for _, end := range slices.Backward(chromium.end) {
		end()
	}
	return code
}

func start(path string) {
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		chromium.err = err
		return
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(profile),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.WSURLReadTimeout(90*time.Second))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	chromium.end = append(chromium.end, func() { os.RemoveAll(profile) }, cancel)
	chromium.ctx, cancel = chromedp.NewContext(ctx)
	chromium.end = append(chromium.end, cancel)
	_, chromium.err = chromedp.Run(chromium.ctx, chromedp.Evaluate[bool](`true`))
}

// Tab returns a new tab, for at most three minutes.
func Tab(t *testing.T) context.Context {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: ", err)
	}
	checkout.SkipLong(t)
	chromium.Do(func() { start(path) })
	if chromium.err != nil {
		t.Fatal("chromium: ", chromium.err)
	}
	ctx, cancel := chromedp.NewContext(chromium.ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// Do performs an action in a tab.
func Do[T any](ctx context.Context, t *testing.T, a chromedp.Action[T]) T {
	t.Helper()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Call calls a command of the DevTools protocol.
func Call[P, R any](ctx context.Context, t *testing.T, c cdp.Command[P, R], params P) {
	t.Helper()
	if _, err := chromedp.Call(ctx, c, params); err != nil {
		t.Fatal(err)
	}
}

// KeepShot writes a picture of the page into the folder TEST_SCREENSHOTS, if that is set.
func KeepShot(ctx context.Context, t *testing.T, name string, take chromedp.Action[[]byte]) {
	t.Helper()
	folder := os.Getenv("TEST_SCREENSHOTS")
	if folder == "" {
		return
	}
	shot := Do(ctx, t, take)
	if err := os.WriteFile(filepath.Join(folder, name), shot, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Written writes a page into a file and returns its address.
func Written(t *testing.T, page string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Look shows a page on a screen, or as it is printed (media "screen" or "print"), in a
// scheme of colours ("light" or "dark") and a window of a width.
func Look(ctx context.Context, t *testing.T, page, media, scheme string, width int64) {
	t.Helper()
	Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	Do(ctx, t, chromedp.EmulateViewport(width, 900))
	Do(ctx, t, chromedp.Navigate(page))
}

// Watch collects what pages must not do: complain or ask the network for anything but
// themselves.
type Watch struct {
	mu       sync.Mutex
	problems []string
	loads    int
}

// Listen begins to watch a tab in which a page is shown.
func Listen(ctx context.Context, t *testing.T, page string) *Watch {
	t.Helper()
	w := &Watch{}
	if err := chromedp.Listen(ctx, w.listener(page)); err != nil {
		t.Fatal(err)
	}
	Call(ctx, t, network.Enable, network.EnableParams{})
	Call(ctx, t, log.Enable, cdp.Empty{})
	Call(ctx, t, runtime.Enable, cdp.Empty{})
	return w
}

// listener returns what hears the events of a page.
func (w *Watch) listener(page string) func(any) {
	return func(event any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			w.problems = append(w.problems, fmt.Sprintf("console %s", e.Type))
		case *runtime.EventExceptionThrown:
			w.problems = append(w.problems, "exception "+e.ExceptionDetails.Text)
		case *log.EventEntryAdded:
			w.problems = append(w.problems, fmt.Sprintf("log %s %s", e.Entry.Level, e.Entry.Text))
		case *network.EventRequestWillBeSent:
			switch u := e.Request.URL; {
			case u == page:
				w.loads++
			case !strings.HasPrefix(u, "data:"):
				w.problems = append(w.problems, "request for "+u)
			}
		}
	}
}

// Seen returns how often the page was loaded, and what went wrong.
func (w *Watch) Seen() (loads int, problems []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.loads, slices.Clone(w.problems)
}
