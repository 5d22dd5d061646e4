package waits

import (
	"github.com/csiglab/csiglab/metrics/meaning"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/reading"
)

// Predict reads the runs of a variant of a folder and returns what the steps of their jobs take
// with a change, by seed and job. full says that there is no prediction because the operations are
// too many. Errors wrap runfolder.ErrDamaged when a table cannot be read.
func Predict(f *runfolder.Folder, of meaning.Of, variant string, c Change) (all []Predicted, full bool, err error) {
	r, err := reading.Open(f, of)
	if err != nil {
		return nil, false, err
	}
	p := NewReplay(r, mostReplayed, r.RunsOf(variant)...)
	if err := r.Survey(replaying{p}); err != nil {
		return nil, false, err
	}
	if err := r.Finish(replaying{p}); err != nil {
		return nil, false, err
	}
	return p.Predict(c), p.Full(), nil
}

// replaying reads for a replay and nothing else. It implements reading.Reader.
type replaying struct{ *Replay }

func (r replaying) Pass(n int, p *reading.Pass) error {
	switch n {
	case 0:
		r.AskOperations(p)
	case 1:
		r.AskPorts(p)
	}
	return nil
}
