package verdict

import "time"

// Revision is what is kept of one revision: the candidate of a verdict, or a version of a baseline
// file.
type Revision struct {
	Name    string    `json:"name"`   // for people, such as git:main (4be1c2f)
	Source  string    `json:"source"` // the folder or file
	Suite   string    `json:"suite"`
	Date    time.Time `json:"date"`              // of the commit, or else when the comparison began
	Against string    `json:"against,omitempty"` // the baseline of a verdict
	Outcome Outcome   `json:"outcome,omitempty"` // "" of a baseline file
	Failed  []string  `json:"failed,omitempty"`  // metrics that failed, as EXPERIMENT METRIC
	Cells   []Cell    `json:"-"`
}

// Cell is the values of one variant of an experiment.
type Cell struct {
	Name string // NAME or NAME/VARIANT
	// Definition tells experiments of one name apart; "" where it is not known.
	Definition string
	Clock      string
	Metrics    []Kept
}

// Kept is the values of a metric.
type Kept struct {
	Name    string
	Unit    string // "" where it is not known
	Better  Better // "" where it is not known
	Outcome Outcome
	Values  map[uint64]float64 // by seed
}
