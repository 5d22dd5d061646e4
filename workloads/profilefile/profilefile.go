// Package profilefile reads and writes the communication profiles of training jobs as JSON
// (docs/how-to/jobs.md#profile-files). A profile that was measured from a run says from which one,
// and how far it may be off. Package workloads/circle says what profiles mean.
package profilefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/csiglab/csiglab/internal/jsonread"
	"github.com/csiglab/csiglab/internal/lines"
	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// schema is the version of the format.
const schema = 1

// Limits of a file.
const (
	maxFile = 64 << 20 // bytes
	maxJobs = 10_000
)

// Job is a profile with where it comes from.
type Job struct {
	circle.Profile             // its Name is not empty, and no other job of the file has it
	Source         string      // such as a run and how it was measured; "": not said
	Uncertainty    Uncertainty // of a measured profile
}

// Uncertainty says how far a measured profile may be off, on either side. 0 is not known.
type Uncertainty struct {
	Period units.Duration
	Bursts units.Duration // of the begin and of the length of each
}

// file is the layout of a file. Numbers are decimal texts, so that no digit is lost.
type file struct {
	Schema int       `json:"schema"`
	Jobs   []fileJob `json:"jobs"`
}

type fileJob struct {
	Name        string       `json:"name"`
	Period      json.Number  `json:"periodUs"`
	Bursts      []fileBurst  `json:"bursts"`
	Source      string       `json:"source,omitempty"`
	Uncertainty *fileUnknown `json:"uncertainty,omitempty"`
}

type fileBurst struct {
	At     json.Number `json:"atUs"`
	Length json.Number `json:"lengthUs"`
	Rate   json.Number `json:"rateGbps,omitempty"`
}

type fileUnknown struct {
	Period json.Number `json:"periodUs,omitempty"`
	Bursts json.Number `json:"burstsUs,omitempty"`
}

// Write writes a file with jobs. It refuses what Read would refuse.
func Write(w io.Writer, jobs []Job) error {
	f := file{Schema: schema, Jobs: make([]fileJob, len(jobs))}
	if len(jobs) == 0 || len(jobs) > maxJobs {
		return fmt.Errorf("profilefile: %d jobs, want 1 to %d", len(jobs), maxJobs)
	}
	seen := map[string]bool{}
	for i := range jobs {
		j := &jobs[i]
		switch err := j.Validate(); {
		case err != nil:
			return fmt.Errorf("profilefile: job %q: %w", j.Name, err)
		case j.Name == "" || seen[j.Name]:
			return fmt.Errorf("profilefile: job %d: the name %q is empty or there twice", i, j.Name)
		case !printable(j.Name) || !printable(j.Source):
			return fmt.Errorf("profilefile: job %q: the name or the source %q has characters that cannot be printed", j.Name, j.Source)
		case j.Uncertainty.Period < 0 || j.Uncertainty.Bursts < 0:
			return fmt.Errorf("profilefile: job %q: uncertainty %v of the period and %v of the bursts, want 0 or more", j.Name, j.Uncertainty.Period, j.Uncertainty.Bursts)
		}
		seen[j.Name] = true
		out := fileJob{Name: j.Name, Period: microseconds(j.Period), Source: j.Source}
		for _, b := range j.Bursts {
			burst := fileBurst{At: microseconds(b.At), Length: microseconds(b.Length)}
			if b.Rate > 0 {
				burst.Rate = json.Number(units.FormatDecimal(int64(b.Rate), int64(units.Gbps)))
			}
			out.Bursts = append(out.Bursts, burst)
		}
		if u := j.Uncertainty; u != (Uncertainty{}) {
			out.Uncertainty = &fileUnknown{}
			if u.Period > 0 {
				out.Uncertainty.Period = microseconds(u.Period)
			}
			if u.Bursts > 0 {
				out.Uncertainty.Bursts = microseconds(u.Bursts)
			}
		}
		f.Jobs[i] = out
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(f); err != nil {
		return fmt.Errorf("profilefile: %w", err)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// printable reports whether a terminal shows a text as it is, without obeying it.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) })
}

func microseconds(d units.Duration) json.Number {
	return json.Number(units.FormatDecimal(int64(d), int64(units.Microsecond)))
}

// ReadFile reads a file. The error names the file, and is a *lines.Error when the file's
// content is wrong.
func ReadFile(name string) ([]Job, error) {
	f, err := own.Input(name, maxFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer f.Close() // opened for reading
	return Read(name, f)
}

// Read reads a file strictly: every key is known and there once, all but source,
// uncertainty and rateGbps are there, and the profiles are valid. name stands for the file
// in errors, which are of type *lines.Error. It returns at least one job.
func Read(name string, in io.Reader) ([]Job, error) {
	r := &reader{Reader: jsonread.New(name, in)}
	var jobs []Job
	err := r.Fields("a profile file", map[string]func() error{
		"schema": func() error {
			v, err := r.Int("schema", 0, 1<<31)
			if err == nil && v != schema {
				return r.Errorf(r.Pos(), "schema %d of a profile file; this csiglab reads %d", v, schema)
			}
			return err
		},
		"jobs": func() error {
			if err := r.Want(jsonread.Array, "the list of jobs"); err != nil {
				return err
			}
			begin := r.Pos()
			err := r.Array(func(i int) error {
				if i == maxJobs {
					return r.Errorf(r.Pos(), "more than %d jobs", maxJobs)
				}
				j, err := r.job(jobs)
				jobs = append(jobs, j)
				return err
			})
			if err == nil && len(jobs) == 0 {
				return r.Errorf(begin, "no jobs, want 1 to %d", maxJobs)
			}
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	switch kind, err := r.Peek(); {
	case err != nil:
		return nil, err
	case kind != jsonread.None:
		return nil, r.Errorf(r.Pos(), "%v behind the end of the profiles", kind)
	}
	return jobs, nil
}

// reader reads a file.
type reader struct{ *jsonread.Reader }

// job reads a job that follows others.
func (r *reader) job(before []Job) (j Job, err error) {
	places := map[string]lines.Pos{} // of fields as circle.FieldError names them
	uncertainty := map[string]func() error{
		"periodUs": func() (err error) { j.Uncertainty.Period, err = r.duration("periodUs"); return err },
		"burstsUs": func() (err error) { j.Uncertainty.Bursts, err = r.duration("burstsUs"); return err },
	}
	err = r.Fields("a job", map[string]func() error{
		"name": func() error {
			if j.Name, err = r.text("name"); err != nil {
				return err
			}
			switch {
			case j.Name == "":
				return r.Errorf(r.Pos(), "the name of a job is empty")
			case !printable(j.Name):
				return r.Errorf(r.Pos(), "the name %q has characters that cannot be printed", clip(j.Name))
			case slices.ContainsFunc(before, func(b Job) bool { return b.Name == j.Name }):
				return r.Errorf(r.Pos(), "the job %q is there twice", clip(j.Name))
			}
			return nil
		},
		"source": func() (err error) {
			if j.Source, err = r.text("source"); err == nil && !printable(j.Source) {
				return r.Errorf(r.Pos(), "the source %q has characters that cannot be printed", clip(j.Source))
			}
			return err
		},
		"periodUs": func() (err error) {
			j.Period, err = r.duration("periodUs")
			places["period"] = r.Pos()
			return err
		},
		"bursts": func() error {
			if err := r.Want(jsonread.Array, "the list of bursts"); err != nil {
				return err
			}
			places["bursts"] = r.Pos()
			return r.Array(func(i int) error {
				if i == circle.MaxBursts {
					return r.Errorf(r.Pos(), "more than %d bursts", circle.MaxBursts)
				}
				b, err := r.burst(fmt.Sprintf("bursts[%d].", i), places)
				j.Bursts = append(j.Bursts, b)
				return err
			})
		},
		"uncertainty": func() error { return r.Fields("an uncertainty", uncertainty, "periodUs", "burstsUs") },
	}, "source", "uncertainty")
	if err != nil {
		return j, err
	}
	var wrong *circle.FieldError
	if errors.As(j.Validate(), &wrong) {
		return j, r.Errorf(places[wrong.Field], "job %q: %v", clip(j.Name), wrong)
	}
	return j, nil
}

func (r *reader) burst(field string, places map[string]lines.Pos) (b circle.Burst, err error) {
	err = r.Fields("a burst", map[string]func() error{
		"atUs": func() (err error) {
			b.At, err = r.duration("atUs")
			places[field+"at"] = r.Pos()
			return err
		},
		"lengthUs": func() (err error) {
			b.Length, err = r.duration("lengthUs")
			places[field+"length"] = r.Pos()
			return err
		},
		"rateGbps": func() error {
			v, err := r.scaled("rateGbps", int64(units.Gbps))
			if err == nil && v == 0 {
				return r.Errorf(r.Pos(), "rateGbps is 0, want more; without the key the burst takes what the link has")
			}
			b.Rate = units.Rate(v)
			places[field+"rate"] = r.Pos()
			return err
		},
	}, "rateGbps")
	return b, err
}

func (r *reader) text(what string) (string, error) {
	if err := r.Want(jsonread.String, what); err != nil {
		return "", err
	}
	return r.String()
}

func (r *reader) duration(what string) (units.Duration, error) {
	v, err := r.scaled(what, int64(units.Microsecond))
	return units.Duration(v), err
}

// scaled reads a decimal number of a unit.
func (r *reader) scaled(what string, unit int64) (int64, error) {
	if err := r.Want(jsonread.Number, what); err != nil {
		return 0, err
	}
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	if strings.ContainsAny(text, "eE") {
		return 0, r.Errorf(r.Pos(), "%s %s: write it without exponent", what, clip(text))
	}
	v, err := units.Scale(text, unit)
	switch {
	case err != nil:
		return 0, r.Errorf(r.Pos(), "%s %s: %v", what, clip(text), err)
	case v < 0:
		return 0, r.Errorf(r.Pos(), "%s is %s, want 0 or more", what, clip(text))
	}
	return v, nil
}

func clip(text string) string {
	const most = 80
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
