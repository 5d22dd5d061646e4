package ui

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Runs in real time are listed with their states; those without metrics have no page.
func TestUnderWay(t *testing.T) {
	dir := planted(t, "a")
	s := server(dir, &fakeReports{}, runs.Run{ID: "1f", Name: "three-flow", Runtime: "netns", Clock: "wall", State: runs.Held, Started: time.Now(),
		Nodes: []runs.Node{{Name: "h0", Metrics: "/nowhere/socket"}}}, runs.Run{ID: "2f", Name: "dead one", Runtime: "netns", Clock: "lockstep", State: runs.Dead})
	part := get(s, "/underway").Body.String()
	if !strings.Contains(part, `href="/lab/1f"`) || strings.Contains(part, `/lab/2f`) || !strings.Contains(part, `<strong class="warn">dead</strong>`) || !strings.Contains(part, "netns, wall") {
		t.Error(part)
	}
	if w := get(s, "/lab/1f"); w.Code != 200 || !strings.Contains(w.Body.String(), "three-flow 1f") || !strings.Contains(w.Body.String(), `http-equiv="refresh"`) {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
	if w := get(s, "/lab/2f"); w.Code != 404 {
		t.Errorf("status %d", w.Code)
	}
	s.config.List = func(context.Context) ([]runs.Run, error) { return nil, errors.New("<b>no list") }
	if w := get(s, "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "&lt;b&gt;no list") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
}

// A folder that goes away is a page that says so.
func TestGone(t *testing.T) {
	dir := planted(t, "a")
	s := server(dir, &fakeReports{})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/"); w.Code != 500 || !strings.Contains(w.Body.String(), "no such file or directory") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if w := get(s, "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "There is no run in this folder yet") {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
}
