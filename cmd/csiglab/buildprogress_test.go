package main

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lockedText collects what several goroutines write.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

// TestBuildProgress: a build is shown every ten seconds without a terminal, and its time is
// told at its end; a program that needs no build says nothing.
func TestBuildProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w lockedText
		p := newBuildProgress(&w, "git:main", buildElsewhere)
		time.Sleep(25 * time.Second)
		p.say("compiling csiglab")
		if took := p.close(); took != 25*time.Second {
			t.Errorf("took %v, want 25 s", took)
		}
		const want = "building git:main for 10s\nbuilding git:main for 20s\ncompiling csiglab\ngit:main is ready after 25s\n"
		if got := w.text.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		var quiet lockedText
		newBuildProgress(&quiet, "self", buildElsewhere).close()
		if got := quiet.text.String(); got != "" {
			t.Errorf("of a program that is there: %q", got)
		}
	})
}
