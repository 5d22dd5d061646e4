package comparisons

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// A build that takes longer than these is shown again.
const (
	buildOnTerminal = time.Second
	buildElsewhere  = 10 * time.Second
)

// buildProgress shows that a program of a comparison is being built, and for how long: a
// line of a terminal that changes each second, elsewhere a line every ten.
type buildProgress struct {
	w     io.Writer
	what  string
	began time.Time
	done  chan struct{}

	mu    sync.Mutex
	bar   *progressbar.ProgressBar // nil without a terminal
	ended sync.WaitGroup
}

func newBuildProgress(w io.Writer, what string, every time.Duration) *buildProgress {
	p := &buildProgress{w: w, what: what, began: time.Now(), bar: command.NewBar(w), done: make(chan struct{})}
	if p.bar != nil {
		every = buildOnTerminal
	}
	p.ended.Add(1)
	go p.follow(time.NewTicker(every))
	return p
}

func (p *buildProgress) follow(ticker *time.Ticker) {
	defer p.ended.Done()
	defer ticker.Stop()
	for {
		select {
		case <-p.done:
			return
		case <-ticker.C:
			p.show()
		}
	}
}

func (p *buildProgress) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("building %s for %s", p.what, wallTime(time.Since(p.began)))
	if p.bar == nil {
		fmt.Fprintln(p.w, text)
		return
	}
	p.bar.Describe(text)
	p.bar.Add(0) // draws it; a bar that cannot be drawn is no error
}

// say prints a line above the bar.
func (p *buildProgress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		p.bar.Clear() // as above
	}
	fmt.Fprintln(p.w, text)
}

// close ends the display, and returns how long the build took.
func (p *buildProgress) close() time.Duration {
	close(p.done)
	p.ended.Wait()
	took := time.Since(p.began)
	if p.bar != nil {
		p.bar.Finish() // as above
	}
	if took >= time.Second {
		fmt.Fprintf(p.w, "%s is ready after %s\n", p.what, wallTime(took))
	}
	return took
}

// wallTime prints a time in seconds.
func wallTime(d time.Duration) string { return d.Round(100 * time.Millisecond).String() }
