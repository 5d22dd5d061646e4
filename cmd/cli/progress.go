package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
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
	return &progressView{w: w, bar: newBar(w)}
}

// newBar returns a bar on a terminal, nil elsewhere.
func newBar(w io.Writer) *progressbar.ProgressBar {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return progressbar.NewOptions(barSteps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
}

func (p *progressView) update(now campaign.Progress) {
	left := ""
	if now.ETA >= time.Second {
		left = fmt.Sprintf(", about %v left", now.ETA.Round(time.Second))
	}
	if p.bar != nil {
		p.bar.Describe(fmt.Sprintf("%d of %s%s", now.Done, spelling.Plural(now.Total, "run"), left))
		p.bar.Set(int(now.Fraction * barSteps)) // a bar that cannot be drawn is no error
		return
	}
	if now.Done > p.done {
		p.done = now.Done
		fmt.Fprintf(p.w, "%d of %s done: %s, seed %d%s\n", now.Done, spelling.Plural(now.Total, "run"), now.Variant, now.Seed, left)
	}
}

func (p *progressView) close() {
	if p.bar != nil {
		p.bar.Finish() // as above
	}
}

// A report that takes longer is shown: on a terminal as a bar, elsewhere as a line.
const (
	barAfter  = time.Second
	lineAfter = 5 * time.Second
)

// reportProgress shows that a report is being written, if that takes time. Its methods
// may be called from several goroutines.
type reportProgress struct {
	folder string
	w      io.Writer
	timer  *time.Timer

	mu            sync.Mutex
	bar           *progressbar.ProgressBar // nil without a terminal
	shown, closed bool
}

func newReportProgress(w io.Writer, folder string) *reportProgress {
	p := &reportProgress{folder: folder, w: w, bar: newBar(w)}
	after := lineAfter
	if p.bar != nil {
		after = barAfter
	}
	p.timer = time.AfterFunc(after, p.show)
	return p
}

func (p *reportProgress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case p.bar != nil:
		p.shown = true
		p.bar.Describe("report of " + p.folder)
	default:
		fmt.Fprintf(p.w, "writing the report of %s\n", p.folder)
	}
}

// update shows which share of the folder has been read.
func (p *reportProgress) update(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.closed {
		p.bar.Set(int(share * (barSteps - 1))) // below the end, at which the bar would go
	}
}

func (p *reportProgress) close() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.shown {
		p.bar.Finish() // a bar that cannot be drawn is no error
	}
}
