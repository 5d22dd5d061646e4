package holder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// A holder that was killed has said nothing: an empty log is nothing to read.
func TestWhyDied(t *testing.T) {
	r := runs.Run{ID: "a1", State: runs.Dead, PID: 77, Folder: t.TempDir()}
	e := Ender{Clean: func(context.Context, string, runs.Cleaner) ([]string, error) { return nil, nil }}
	log := filepath.Join(r.Folder, logFile)
	for text, want := range map[string]string{"": "process 77 was killed", "panic: x\n": log + " may say why"} {
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := e.End(t.Context(), r).Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("log %q: got %v, want %q", text, err, want)
		}
	}
}

// TestEnd tests where the report comes from and when End cleans.
func TestEnd(t *testing.T) {
	wrong := errors.New("wrong")
	noted := runs.Report{Code: 1, Output: "noted"}
	fresh := runs.Report{Output: "fresh"}
	for _, c := range []struct {
		name              string
		run               runs.Run
		downErr, cleanErr error
		report            runs.Report
		byItself          bool
		is                error
		asked, cleaned    int
		removed           int
	}{
		{name: "in order", run: runs.Run{State: runs.Held}, report: fresh, asked: 1},
		{name: "interrupted", run: runs.Run{State: runs.Held}, downErr: context.Canceled, report: fresh, is: context.Canceled, asked: 1},
		{name: "by itself", run: runs.Run{State: runs.Dead, End: &noted}, report: noted, byItself: true, cleaned: 1},
		{name: "by itself, not cleaned", run: runs.Run{State: runs.Dead, End: &noted}, cleanErr: wrong, report: noted, byItself: true, is: wrong, cleaned: 1},
		{name: "dead", run: runs.Run{State: runs.Dead}, is: runs.ErrHolderDied, cleaned: 1, removed: 1},
		{name: "dies", run: runs.Run{State: runs.Held}, downErr: runs.ErrHolderDied, report: fresh, is: runs.ErrHolderDied, asked: 1, cleaned: 1, removed: 1},
		{name: "dead, not cleaned", run: runs.Run{State: runs.Dead}, cleanErr: wrong, is: wrong, cleaned: 1, removed: 1},
	} {
		asked, cleaned := 0, 0
		e := Ender{
			Down: func(context.Context, runs.Run, func(string)) (runs.Report, error) {
				asked++
				return fresh, c.downErr
			},
			Clean: func(context.Context, string, runs.Cleaner) ([]string, error) {
				cleaned++
				return []string{"namespace 17"}, c.cleanErr
			},
		}
		got := e.End(t.Context(), c.run)
		if got.Report != c.report || got.ByItself != c.byItself || !errors.Is(got.Err, c.is) || (got.Err == nil) != (c.is == nil) {
			t.Errorf("%s: got %+v, want %+v, by itself %v, error %v", c.name, got, c.report, c.byItself, c.is)
		}
		if asked != c.asked || cleaned != c.cleaned || len(got.Removed) != c.removed {
			t.Errorf("%s: asked %d times, cleaned %d times, removed %v", c.name, asked, cleaned, got.Removed)
		}
	}
}
