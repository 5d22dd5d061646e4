package perform

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/run/campaign"
)

// Progress shows the progress of the runs: a bar on a terminal, elsewhere lines. Calls of update do
// not overlap.
type Progress struct {
	Writer io.Writer
	Bar    *progressbar.ProgressBar // nil without a terminal
	Lines  command.Lines
	done   int
}

// NewProgress returns a view that is shown on w.
func NewProgress(w io.Writer) *Progress {
	return &Progress{Writer: w, Bar: command.NewBar(w), Lines: command.NewLines()}
}

func (p *Progress) update(now campaign.Progress) {
	left := ""
	if now.ETA >= time.Second {
		left = fmt.Sprintf(", about %v left", now.ETA.Round(time.Second))
	}
	if p.Bar != nil {
		p.Bar.Describe(fmt.Sprintf("%d of %s%s", now.Done, spelling.Plural(now.Total, "run"), left))
		p.Bar.Set(int(now.Fraction * command.BarSteps)) // a bar that cannot be drawn is no error
		return
	}
	if now.Done > p.done && p.Lines.Due(now.Done == now.Total) {
		p.done = now.Done
		fmt.Fprintf(p.Writer, "%d of %s done: %s, seed %d%s\n", now.Done, spelling.Plural(now.Total, "run"), now.Variant, now.Seed, left)
	}
}

// Close takes the bar away.
func (p *Progress) Close() {
	if p.Bar != nil {
		p.Bar.Finish() // as above
	}
}

// A report that takes longer is shown: on a terminal as a bar, elsewhere as a line.
const (
	barAfter  = time.Second
	lineAfter = 5 * time.Second
)

// ReportProgress shows that a report is being written, if that takes time. Its methods
// may be called from several goroutines.
type ReportProgress struct {
	folder string
	w      io.Writer
	timer  *time.Timer

	mu            sync.Mutex
	bar           *progressbar.ProgressBar // nil without a terminal
	shown, closed bool
}

func newReportProgress(w io.Writer, folder string) *ReportProgress {
	p := &ReportProgress{folder: folder, w: w, bar: command.NewBar(w)}
	after := lineAfter
	if p.bar != nil {
		after = barAfter
	}
	p.timer = time.AfterFunc(after, p.show)
	return p
}

func (p *ReportProgress) show() {
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
func (p *ReportProgress) update(share float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.closed {
		p.bar.Set(int(share * (command.BarSteps - 1))) // below the end, at which the bar would go
	}
}

func (p *ReportProgress) close() {
	p.timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.shown {
		p.bar.Finish() // a bar that cannot be drawn is no error
	}
}

// Step shows which of several steps is next: on a terminal in a bar, elsewhere as a line.
// An empty name is the end.
func (p *Progress) Step(name string, done, total int) {
	switch {
	case name == "":
	case p.Bar != nil:
		p.Bar.Describe(fmt.Sprintf("%d of %d: %s", done+1, total, name))
		p.Bar.Set(done * command.BarSteps / total) // a bar that cannot be drawn is no error
	default:
		fmt.Fprintf(p.Writer, "%d of %d: %s\n", done+1, total, name)
	}
}
