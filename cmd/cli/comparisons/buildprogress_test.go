package comparisons

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestBuildProgress: a build is shown every ten seconds without a terminal, and its time is
// told at its end; a program that needs no build says nothing.
func TestBuildProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w strings.Builder
		p := newBuildProgress(&w, "git:main", buildElsewhere)
		time.Sleep(25 * time.Second)
		p.say("compiling csiglab")
		if took := p.close(); took != 25*time.Second {
			t.Errorf("took %v, want 25 s", took)
		}
		const want = "building git:main for 10s\nbuilding git:main for 20s\ncompiling csiglab\ngit:main is ready after 25s\n"
		if got := w.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var quiet strings.Builder
		newBuildProgress(&quiet, "self", buildElsewhere).close()
		if got := quiet.String(); got != "" {
			t.Errorf("of a program that is there: %q", got)
		}
	})
}
