package command

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// BarSteps is how many steps a bar of NewBar has.
const BarSteps = 1000

// NewBar returns a bar on a terminal, nil elsewhere.
func NewBar(w io.Writer) *progressbar.ProgressBar {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return progressbar.NewOptions(BarSteps,
		progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(30), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
}

// Lines says when a command that works without a terminal prints how far it is: what takes less than
// a second prints nothing, what takes ten a line, and more a line each ten seconds.
type Lines struct{ began, last time.Time }

const (
	firstLine = time.Second
	nextLine  = 10 * time.Second
)

// NewLines begins now.
func NewLines() Lines { return Lines{began: time.Now()} }

// Due reports whether a line is to be printed now; ended says that it is the last one.
func (l *Lines) Due(ended bool) bool {
	now := time.Now()
	switch first := l.last.IsZero(); {
	case first && (ended || now.Sub(l.began) < firstLine), !first && !ended && now.Sub(l.last) < nextLine:
		return false
	}
	l.last = now
	return true
}
