package signature

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Parts implements section.Section: a part for each job that has steps, and one for the runs
// without.
func (s *Section) Parts() (parts []section.Part) {
	var jobs []string // "" for runs
	for i := range s.Signatures {
		if job := s.Signatures[i].Job; !slices.Contains(jobs, job) {
			jobs = append(jobs, job)
		}
	}
	var busy, available *chart.Figure // the last of each
	shown, measured := 0, 0           // signatures in figures
	for _, job := range jobs {
		one := s.figure(job, false, phrases.MaxOfAKind-shown)
		if one == nil {
			break
		}
		busy, shown = one, shown+len(one.Panels)
		p := section.Part{ID: busy.ID, Title: busy.Title, Blocks: []section.Block{busy}}
		if one := s.figure(job, true, phrases.MaxOfAKind-measured); one != nil {
			available, measured = one, measured+len(one.Panels)
			p.Blocks = append(p.Blocks, section.Fold{Title: one.Title, Blocks: []section.Block{one}})
		}
		if p.Says, p.Level = s.says(job); len(parts) > 0 {
			p.Level = section.Quiet // it is the same fabric, by other steps
		}
		parts = append(parts, p)
	}
	if busy != nil {
		busy.Caption += phrases.LeftOut(len(s.Signatures), shown)
	}
	if available != nil {
		available.Caption += phrases.LeftOut(s.measured(), measured)
	}
	return parts
}

// measured returns how many signatures have what meters said.
func (s *Section) measured() (n int) {
	for i := range s.Signatures {
		if s.Signatures[i].Measured {
			n++
		}
	}
	return n
}

// figure returns the signatures of a job, so many at most; nil without.
func (s *Section) figure(job string, available bool, most int) *chart.Figure {
	of, id, total := "the run", "signature", 0.0
	if available {
		id += "-available"
	}
	if job != "" {
		of, id = "a step of "+words.Clipped(job), id+"-"+words.ID(job)
	}
	var drawings []*drawing
	for i := range s.Signatures {
		g := &s.Signatures[i]
		if g.Job != job {
			continue
		}
		total = max(total, float64(g.Bins)*g.BinUS) // one axis for all steps of a job
		if len(drawings) < most && (g.Measured || !available) {
			drawings = append(drawings, &drawing{Signature: g, available: available})
		}
	}
	if len(drawings) == 0 {
		return nil
	}
	f := &chart.Figure{ID: id, Columns: min(len(drawings), 2)}
	if available {
		f.Title = "What links had left over " + of
		f.Caption = "Each row is a port, each column a slice of time. A cell that stands out from the background: the least bandwidth that was available there was close to nothing; of switch ports as their CSIG meters had it, of hosts as the windows left it. The number on the right is the least of the row."
		f.Legend = chart.ScaleKeys("over 99.5 % left", func(from, to float64) string {
			return fmt.Sprintf("%s to %s %% left", words.Number(100-100*to), words.Number(100-100*from))
		})
	} else {
		f.Title = "How busy each link is over " + of
		f.Caption = "Each row is a port, each column a slice of time. The more a cell stands out from the background, the busier is the line. The number on the right is the greatest value of the row."
		f.Legend = chart.ScaleKeys("idle", func(from, to float64) string {
			return fmt.Sprintf("%s to %s %% busy", words.Number(100*from), words.Number(100*to))
		})
	}
	f.Caption += " Rows go from the hosts up (↑) and down again (↓)."
	if slices.ContainsFunc(drawings, func(d *drawing) bool { return len(d.Spans) > 0 }) {
		f.Caption += " The bars above say when collectives and phases are under way: thin from the first begin to the last end, thick while one is."
	}
	if slices.ContainsFunc(drawings, func(d *drawing) bool { return slices.ContainsFunc(d.Rows, func(r Row) bool { return r.Slowed }) }) {
		f.Legend = append(f.Legend, chart.LineKey("name in red: slowed by a fault", chart.Look{Paint: chart.Target}))
	}
	for _, d := range drawings {
		d.totalUS = total
		title := words.Clipped(d.Variant)
		if len(s.r.Variants) < 2 {
			title = words.Clipped(s.r.Name)
		}
		f.Panels = append(f.Panels, chart.Panel{Title: title, Subtitle: d.subtitle(&s.r.Facts), Variant: d.Variant, Chart: d.chart(title)})
	}
	return f
}

// Shares of a port that a reader of means would not expect: it is full at times and yet idle
// for most of the time.
const (
	fullCell = 90 // per cent
	idleMean = 50
)

// says returns what the signature of a job says of the variant of which places are told, or of
// the first that has one: which single port is the busiest at some time, and on average.
func (s *Section) says(job string) (text string, level section.Level) {
	at := slices.IndexFunc(s.Signatures, func(g Signature) bool { return g.Job == job && g.Variant == s.r.Told })
	if at < 0 {
		at = slices.IndexFunc(s.Signatures, func(g Signature) bool { return g.Job == job })
	}
	g := &s.Signatures[at]
	row, most, mean := -1, 0, 0.0
	for i := range g.Rows {
		peak, sum, cells := 0, 0.0, 0
		for _, v := range g.Utilisation[i] {
			if v >= 0 {
				peak, sum, cells = max(peak, int(v)), sum+float64(v), cells+1
			}
		}
		if one := sum / float64(max(cells, 1)); g.Rows[i].Place != nil && (row < 0 || peak > most || peak == most && one > mean) {
			row, most, mean = i, peak, one
		}
	}
	if row < 0 {
		return "", section.Quiet
	}
	of := "the run"
	if job != "" {
		of = "a step"
		level = section.Plain
	}
	port, in := phrases.Port(g.Rows[row].Place), phrases.In(&s.r.Facts, words.Clipped(g.Variant))
	if most >= fullCell && mean < idleMean {
		level++
	}
	if average := int(math.Round(mean)); average < most {
		return fmt.Sprintf("The busiest port, %s, is used to %d %% at times, and to %d %% on average over %s%s.", port, most, average, of, in), level
	}
	return fmt.Sprintf("The busiest port, %s, is used to %d %% all the time%s.", port, most, in), level
}
