package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/orchestrator/campaign"
)

// progressView shows the progress of the runs: a bar on a terminal, elsewhere a line
// for each run that ends. Calls of update do not overlap.
type progressView struct {
	w    io.Writer
	bar  *progressbar.ProgressBar // nil without a terminal
	done int
}

const barSteps = 1000

func newProgress(w io.Writer) *progressView {
	p := &progressView{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions(barSteps,
			progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	}
	return p
}

func (p *progressView) update(now campaign.Progress) {
	left := ""
	if now.ETA >= time.Second {
		left = fmt.Sprintf(", about %v left", now.ETA.Round(time.Second))
	}
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d of %s%s", now.Done, plural(now.Total, "run"), left))
		p.bar.Set(int(now.Fraction * barSteps)) // a bar that cannot be drawn is no error
		return
	}
	if now.Done > p.done {
		p.done = now.Done
		fmt.Fprintf(p.w, "%d of %s done: %s, seed %d%s\n", now.Done, plural(now.Total, "run"), now.Variant, now.Seed, left)
	}
}

func (p *progressView) close() {
	if p.bar != nil {
		p.bar.Finish() // as above
	}
}
