package regress

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// Versions of baseline files. ReadStored takes both.
const (
	storedWithoutDigest = 1
	storedSchema        = 2
)

// maxStored is the most bytes that a baseline file may have.
const maxStored = 64 << 20

// Stored is the content of a baseline file: the values of a side of a suite. It has
// nothing that differs from one time of saving to another, so that a file in git changes
// only when values do.
type Stored struct {
	File    string // for messages; not part of the content
	Suite   string
	Version string // of the csiglab that ran
	Label   string // of the side
	Cells   []StoredCell
}

// StoredCell is the values of one variant of an experiment.
type StoredCell struct {
	Name    string // NAME or NAME/VARIANT
	Content string // digest of the experiment's text and files
	Set     []string
	Clock   string
	Metrics []string // in the order of the suite
	Runs    []StoredRun
	line    int
	column  int
}

// StoredRun is the values of one seed.
type StoredRun struct {
	Seed      uint64
	TraceHash string
	Failed    bool      // an expectation failed
	Values    []float64 // by StoredCell.Metrics; NaN: the run lacks it
}

// Save runs the baseline of a campaign under all seeds, and returns its values. An invalid
// run is an error of class failure.ErrInfrastructure.
func (c *Campaign) Save(ctx context.Context) (*Stored, error) {
	c.Candidate = c.Baseline
	if err := c.Prepare(); err != nil {
		return nil, err
	}
	if err := c.writeTexts(); err != nil {
		return nil, err
	}
	c.runner = c.Watched(c.Runner)
	s := &Stored{Suite: c.Suite.Name, Version: c.Baseline.Build, Label: c.Baseline.Label}
	total := 0
	for _, one := range c.cells {
		total += one.looks[len(one.looks)-1]
	}
	for _, one := range c.cells {
		var trials []trial.Trial
		for seed := range one.looks[len(one.looks)-1] {
			trials = append(trials, c.trial(one, 0, uint64(seed+1)))
		}
		outcomes, err := trial.All(ctx, c.runner, c.Journal, trials, c.parallel(one), func(done, _ int) {
			if c.Progress != nil {
				c.Progress(Progress{Done: c.done + done, Least: total, Name: one.name()})
			}
		})
		if err != nil {
			return nil, err
		}
		c.done += len(trials)
		samples := samples{cell: one}
		cell := StoredCell{Name: one.name(), Content: one.content[0], Clock: one.clock, Set: slices.Concat(one.entry.Set, c.Baseline.Set)}
		for _, r := range one.rules {
			cell.Metrics = append(cell.Metrics, r.Metric)
		}
		for i := range outcomes {
			samples.check(0, i+1, &outcomes[i])
			run := StoredRun{Seed: uint64(i + 1), TraceHash: outcomes[i].TraceHash, Failed: outcomes[i].Exit == exitFailed}
			for _, m := range cell.Metrics {
				v, ok := outcomes[i].Metrics[m]
				if !ok {
					v = math.NaN()
				}
				run.Values = append(run.Values, v)
			}
			cell.Runs = append(cell.Runs, run)
		}
		if len(samples.reasons) > 0 {
			return nil, failure.Infrastructure(fmt.Errorf("%s: %s", one.name(), strings.Join(samples.reasons, "\n")))
		}
		s.Cells = append(s.Cells, cell)
	}
	slices.SortStableFunc(s.Cells, func(a, b StoredCell) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// NotDeterministic returns the cells whose values another run would not give again.
func (s *Stored) NotDeterministic() (names []string) {
	for i := range s.Cells {
		if one := (&cell{clock: s.Cells[i].Clock}); !one.deterministic() {
			names = append(names, s.Cells[i].Name)
		}
	}
	return names
}

// Text returns the baseline file: JSON with a line for each run, which diff(1) and git show
// well.
func (s *Stored) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\n  \"schema\": %d,\n  \"suite\": %s,\n  \"version\": %s,\n  \"label\": %s,\n  \"experiments\": [", storedSchema, text(s.Suite), text(s.Version), text(s.Label))
	for i, c := range s.Cells {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    {\n      \"name\": %s,\n      \"content\": %s,\n      \"clock\": %s,\n      \"set\": %s,\n      \"metrics\": %s,\n      \"runs\": [",
			text(c.Name), text(c.Content), text(c.Clock), texts(c.Set), texts(c.Metrics))
		for k, r := range c.Runs {
			if k > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "\n        {\"seed\": %d, \"trace\": %s, ", r.Seed, text(r.TraceHash))
			if r.Failed {
				b.WriteString("\"failed\": true, ")
			}
			b.WriteString("\"values\": [")
			for n, v := range r.Values {
				if n > 0 {
					b.WriteString(", ")
				}
				if math.IsNaN(v) {
					b.WriteString("null")
				} else {
					b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
				}
			}
			b.WriteString("]}")
		}
		b.WriteString("\n      ]\n    }")
	}
	b.WriteString("\n  ]")
	b.WriteString(storedEnd(b.Bytes()))
	return b.Bytes()
}

// storedEnd returns the end of a baseline file, which has a digest of the text before it. It
// is always as long.
func storedEnd(text []byte) string {
	return fmt.Sprintf(",\n  \"sha256\": \"%x\"\n}\n", sha256.Sum256(text))
}

func text(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s) //nolint:errcheck // a text
	return strings.TrimSuffix(b.String(), "\n")
}

func texts(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = text(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// ReadStored reads a baseline file strictly. Its error is of class
// failure.ErrConfiguration and names the place.
func ReadStored(name string) (*Stored, error) {
	text, err := own.ReadFile(name, maxStored)
	if err != nil {
		return nil, failure.Configuration(fmt.Errorf("%s: %w", name, err))
	}
	return ParseStored(name, text)
}

// ParseStored returns the content of a baseline file. Its error is that of ReadStored.
func ParseStored(name string, text []byte) (*Stored, error) {
	r := &storedReader{Reader: jsonread.New(name, bytes.NewReader(text))}
	s := &Stored{File: name}
	schema, err := r.stored(s)
	if err != nil {
		return nil, failure.Configuration(err)
	}
	if at := len(text) - len(storedEnd(nil)); schema == storedSchema && (at < 0 || string(text[at:]) != storedEnd(text[:at])) {
		return nil, failure.Configuration(fmt.Errorf("%s: it differs from its digest: it is damaged or was edited; csiglab baseline save writes it again", name))
	}
	return s, nil
}

type storedReader struct{ *jsonread.Reader }

func clip(text string) string {
	if len(text) > 80 {
		return strings.ToValidUTF8(text[:80], "") + "…"
	}
	return text
}

func (r *storedReader) text(to *string) func() error {
	return func() (err error) {
		*to, err = r.String()
		return err
	}
}

func (r *storedReader) texts(to *[]string) func() error {
	return func() error {
		return r.Array(func(int) error {
			text, err := r.String()
			*to = append(*to, text)
			return err
		})
	}
}

// stored reads the file, and returns its schema.
func (r *storedReader) stored(s *Stored) (schema int64, err error) {
	digest := "" // see ReadStored
	err = r.Fields("a baseline file", map[string]func() error{
		"schema": func() (err error) {
			schema, err = r.Int("the schema", 0, math.MaxInt32)
			if err == nil && schema != storedWithoutDigest && schema != storedSchema {
				return r.Errorf(r.Pos(), "schema %d of a baseline file; this csiglab reads %d and %d; csiglab baseline save writes it again", schema, storedWithoutDigest, storedSchema)
			}
			return err
		},
		"suite": r.text(&s.Suite), "version": r.text(&s.Version), "label": r.text(&s.Label), "sha256": r.text(&digest),
		"experiments": func() error {
			return r.Array(func(int) error {
				c, err := r.cell()
				if err != nil {
					return err
				}
				for i := range s.Cells {
					if s.Cells[i].Name == c.Name {
						return r.Errorf(r.Pos(), "the experiment %q is there twice", clip(c.Name))
					}
				}
				s.Cells = append(s.Cells, c)
				return nil
			})
		},
	}, "sha256")
	if err != nil {
		return 0, err
	}
	if kind, err := r.Peek(); err != nil {
		return 0, err
	} else if kind != jsonread.None {
		return 0, r.Errorf(r.Pos(), "%v behind the end of the baseline", kind)
	}
	return schema, nil
}

func (r *storedReader) cell() (c StoredCell, err error) {
	if _, err := r.Peek(); err != nil {
		return c, err
	}
	c.line, c.column = r.Pos().Line, r.Pos().Column
	err = r.Fields("an experiment of a baseline", map[string]func() error{
		"name": r.text(&c.Name), "content": r.text(&c.Content), "clock": r.text(&c.Clock), "set": r.texts(&c.Set), "metrics": r.texts(&c.Metrics),
		"runs": func() error {
			return r.Array(func(i int) error {
				run, err := r.run()
				if err == nil && run.Seed != uint64(i+1) {
					return r.Errorf(r.Pos(), "the run of seed %d; want that of seed %d", run.Seed, i+1)
				}
				if err == nil && i >= maxSeeds {
					return r.Errorf(r.Pos(), "more than %d runs", maxSeeds)
				}
				c.Runs = append(c.Runs, run)
				return err
			})
		},
	})
	if err != nil {
		return c, err
	}
	for _, run := range c.Runs {
		if len(run.Values) != len(c.Metrics) {
			return c, r.Errorf(r.Pos(), "%s, seed %d: %d values of %d metrics", clip(c.Name), run.Seed, len(run.Values), len(c.Metrics))
		}
	}
	return c, nil
}

func (r *storedReader) run() (run StoredRun, err error) {
	err = r.Fields("a run of a baseline", map[string]func() error{
		"seed": func() (err error) {
			run.Seed, err = r.Uint("the seed")
			return err
		},
		"trace": r.text(&run.TraceHash),
		"failed": func() (err error) {
			run.Failed, err = r.Bool()
			return err
		},
		"values": func() error {
			return r.Array(func(int) error {
				kind, err := r.Peek()
				if err != nil {
					return err
				}
				v := math.NaN()
				if kind == jsonread.Null {
					err = r.Skip()
				} else if v, err = r.Float("a value"); err == nil && math.IsInf(v, 0) {
					err = r.Errorf(r.Pos(), "the value is too large")
				}
				run.Values = append(run.Values, v)
				return err
			})
		},
	}, "failed")
	return run, err
}

// find returns the values of a cell, or nil.
func (s *Stored) find(name string) *StoredCell {
	for i := range s.Cells {
		if s.Cells[i].Name == name {
			return &s.Cells[i]
		}
	}
	return nil
}

// outcome returns the outcome of a stored run, which checkStored has found to be there.
func (s *Stored) outcome(one *cell, seed uint64) trial.Outcome {
	c := s.find(one.name())
	run := c.Runs[seed-1]
	out := trial.Outcome{TraceHash: run.TraceHash, Metrics: map[string]float64{}}
	if run.Failed {
		out.Exit = exitFailed
	}
	for i, m := range c.Metrics {
		if !math.IsNaN(run.Values[i]) {
			out.Metrics[m] = run.Values[i]
		}
	}
	return out
}

// storedOverrides gives sides with stored values the overrides that these were saved with,
// beside those of the suite.
func (c *Campaign) storedOverrides() error {
	for _, side := range c.sides() {
		if side.Stored == nil {
			continue
		}
		var first *StoredCell
		for i := range side.Stored.Cells {
			stored := &side.Stored.Cells[i]
			name, _, _ := strings.Cut(stored.Name, "/")
			at := slices.IndexFunc(c.Suite.Entries, func(e Entry) bool { return e.Name == name })
			if at < 0 {
				continue
			}
			own, ok := cutPrefix(stored.Set, c.Suite.Entries[at].Set)
			switch {
			case !ok: // check says so, if it is compared
			case first == nil:
				first, side.Set = stored, own
			case !slices.Equal(own, side.Set):
				return wrong("%s:%d:%d: %s was saved with other overrides than %s; csiglab baseline save writes it again", side.Stored.File, stored.line, stored.column, clip(stored.Name), clip(first.Name))
			}
		}
	}
	return nil
}

// cutPrefix returns a list without the elements that it begins with.
func cutPrefix(list, prefix []string) (rest []string, ok bool) {
	if len(list) < len(prefix) || !slices.Equal(list[:len(prefix)], prefix) {
		return nil, false
	}
	return list[len(prefix):], true
}

// checkStored refuses a baseline file of other experiments, texts, overrides, metrics or
// seeds than those that are to be compared.
func (c *Campaign) checkStored() error {
	sides := c.sides()
	for i, side := range sides {
		if side.Stored == nil {
			continue
		}
		other := sides[1-i]
		for _, one := range c.cells {
			if err := side.Stored.check(one, 1-i, side.Set, other); err != nil {
				return failure.Configuration(err)
			}
		}
	}
	return nil
}

// check compares the values of a cell with what the cell asks for. running is the index of
// the side that runs, set the overrides of the stored side: parameters that the other side
// lacks would be compared with none, which the command line does not show.
func (s *Stored) check(one *cell, running int, set []string, other *Side) error {
	stored := s.find(one.name())
	var names []string
	for _, c := range s.Cells {
		names = append(names, c.Name)
	}
	if stored == nil {
		return fmt.Errorf("%s:1:1: it has no values of %s%s; it is of suite %s: %s", s.File, one.name(), spelling.Hint(spelling.Nearest(one.name(), names)), clip(s.Suite), clip(strings.Join(names, " ")))
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%s:%d:%d: %s: %s; csiglab baseline save writes it again", s.File, stored.line, stored.column, one.name(), fmt.Sprintf(format, args...))
	}
	most := one.looks[len(one.looks)-1]
	_, ofSuite := cutPrefix(stored.Set, one.entry.Set)
	_, same := cutPrefix(other.Set, set)
	switch {
	case other.Stored == nil && other.Experiment == "" && stored.Content != one.content[running]:
		return bad("the text or the files of the experiment have changed since it was saved")
	case other.Stored != nil && other.Stored.find(one.name()) != nil && other.Stored.find(one.name()).Content != stored.Content:
		return bad("it is of another text of the experiment than %s", other.Stored.File)
	case !ofSuite:
		return bad("it was saved with other overrides of the suite: %s; want %s", clip(strings.Join(stored.Set, " ")), clip(strings.Join(one.entry.Set, " ")))
	case !same && other.Stored != nil:
		return bad("it was saved with the overrides %s, and %s was not", clip(strings.Join(set, " ")), other.Stored.File)
	case !same:
		return bad("it was saved with the overrides %s, and the %s has not got them: --%[2]s-set sets them", clip(strings.Join(set, " ")), sideNames[running])
	case len(stored.Runs) < most:
		return bad("it has the seeds up to %d; want them up to %d", len(stored.Runs), most)
	case stored.Clock != one.clock:
		return bad("it was saved with clock %s; want %s", clip(stored.Clock), one.clock)
	}
	for _, r := range one.rules {
		if !slices.Contains(stored.Metrics, r.Metric) {
			return bad("it has no values of %s%s", r.Metric, spelling.Hint(spelling.Nearest(r.Metric, stored.Metrics)))
		}
	}
	return nil
}

// Side returns the side that the values are of.
func (s *Stored) Side() Side {
	return Side{Side: verdict.Side{Label: fmt.Sprintf("stored:%s (%s)", s.File, s.Label), Kind: KindStored, Build: s.Version}, Identity: "stored", Stored: s}
}
