package holder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// Ending is how a lab ended.
type Ending struct {
	Report   runs.Report
	ByItself bool     // the lab had ended before anybody asked for its end
	Removed  []string // what a dead holder had left behind
	Err      error    // nil: Report is the lab's
}

// Ender ends labs. Its functions may be called by several goroutines.
type Ender struct {
	Down  func(ctx context.Context, r runs.Run, say func(text string)) (runs.Report, error) // such as runs.Down
	Clean func(ctx context.Context, which string, how runs.Cleaner) ([]string, error)
	Say   func(text string) // receives what is waited for
}

// End ends a lab in order and returns its report. If the lab's holder has died, End
// removes what the holder left behind. The error wraps context.Canceled if ctx has
// ended; the lab still ends then.
func (e Ender) End(ctx context.Context, r runs.Run) Ending {
	var end Ending
	switch {
	case r.End != nil:
		end.Report, end.ByItself = *r.End, true
		_, end.Err = e.Clean(ctx, r.ID, runs.Cleaner{})
	case r.State == runs.Dead:
		end.Err = runs.ErrHolderDied
	default:
		end.Report, end.Err = e.Down(ctx, r, e.Say)
	}
	if errors.Is(end.Err, runs.ErrHolderDied) {
		err := fmt.Errorf("lab %s has no result: %w; %s", r.ID, end.Err, whyDied(r))
		removed, wrong := e.Clean(ctx, r.ID, runs.Cleaner{})
		end.Removed, end.Err = removed, errors.Join(err, wrong)
	}
	return end
}

// whyDied says why the holder of a lab has died, as far as its log does.
func whyDied(r runs.Run) string {
	log := filepath.Join(r.Folder, logFile)
	if info, err := os.Stat(log); err == nil && info.Size() > 0 {
		return log + " may say why"
	}
	return fmt.Sprintf("it said nothing, so that process %d was killed, by a user or by the kernel for want of memory, which the kernel's log says", r.PID)
}
