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
