package campaign

import (
	"sync"
	"time"
)

// Progress is how far an experiment has come.
type Progress struct {
	Done, Total int // runs
	Variant     string
	Seed        uint64
	Fraction    float64       // of the whole experiment, 0 to 1
	ETA         time.Duration // estimated time left; 0: not known yet
}

// tracker turns the fractions of single runs into the progress of the whole.
type tracker struct {
	mu       sync.Mutex
	report   func(Progress)
	parts    []float64 // by run, 0 to 1
	done     int
	before   float64 // sum of parts that were done before
	started  time.Time
	reported time.Time
}

const progressInterval = 100 * time.Millisecond

func newTracker(runs int, report func(Progress)) *tracker {
	return &tracker{report: report, parts: make([]float64, runs), started: time.Now()}
}

func (t *tracker) update(run int, variant string, seed uint64, fraction float64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[run] = max(t.parts[run], min(fraction, 1))
	if time.Since(t.reported) >= progressInterval {
		t.send(variant, seed)
	}
}

func (t *tracker) finish(run int, variant string, seed uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[run] = 1
	t.done++
	t.send(variant, seed)
}

// skip counts a run that finished before.
func (t *tracker) skip(run int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.parts[run] = 1
	t.done++
	t.before++
}

// send reports the progress. t.mu is held.
func (t *tracker) send(variant string, seed uint64) {
	if t.report == nil {
		return
	}
	var sum float64
	for _, f := range t.parts {
		sum += f
	}
	p := Progress{Done: t.done, Total: len(t.parts), Variant: variant, Seed: seed, Fraction: sum / float64(len(t.parts))}
	if now := p.Fraction - t.before/float64(len(t.parts)); now > 0.01 {
		p.ETA = time.Duration(float64(time.Since(t.started)) * (1 - p.Fraction) / now)
	}
	t.reported = time.Now()
	t.report(p)
}
