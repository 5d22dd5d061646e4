package detection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/chart"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/reading"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// first returns the detection by tags of the first variant that has one, nil without.
func (s *Section) first() *Detection {
	i := slices.IndexFunc(s.Detections, func(d Detection) bool { return d.By == ByTags && d.Looks > 0 })
	if i < 0 {
		return nil
	}
	return &s.Detections[i]
}

// Tell implements section.Teller.
func (s *Section) Tell(story *section.Story) {
	if d := s.first(); d != nil {
		story.Also(section.Why, s.says(d))
	}
}

// Findings implements section.Finder.
func (s *Section) Findings() []string {
	if d := s.first(); d != nil {
		return []string{words.Capital(s.says(d)) + "."}
	}
	return nil
}

// toldPeriod is the period of polls, in seconds of the real job, that sentences are of, unless more
// frequent ones miss the link.
const toldPeriod = 10

// says says how soon tags name the slow link, and what polls need.
func (s *Section) says(d *Detection) string {
	if d.Found == 0 {
		return fmt.Sprintf("in %s tags do not name the slow link %s under any seed", d.Variant, d.Link)
	}
	text := fmt.Sprintf("in %s tags name the slow link %s %s after it slowed%s, under %d of %s", d.Variant, d.Link, words.Short(d.After.Median), inSteps(d), d.Found, words.Plural(d.Looks, "seed"))
	text += wrong(d)
	for i := range s.Detections {
		p := &s.Detections[i]
		if p.Variant != d.Variant || p.Fault != d.Fault || p.By == ByTags {
			continue
		}
		if p.Found == 0 {
			return text + fmt.Sprintf("; %s%s do not, before the run ends", p.By, s.scaled(p))
		}
		if p.Found < p.Looks || p.By == byPolls(toldPeriod) {
			return text + fmt.Sprintf("; %s%s need %s%s in the median, and find it in %s of the looks%s", p.By, s.scaled(p), words.Short(p.After.Median), inSteps(p), words.Percent(float64(p.Found)/float64(p.Looks)), wrong(p))
		}
	}
	return text
}

// wrong says how many wrong ports were named; "" if none was.
func wrong(d *Detection) string {
	if d.Wrong == 0 {
		return ""
	}
	return fmt.Sprintf(", and %s", words.Plural(d.Wrong, "wrong port"))
}

// scaled says how long the time between polls is in a scaled job, whose times are shorter than those
// of the real one; "" of a job that is not scaled.
func (s *Section) scaled(polls *Detection) string {
	if s.timeScale(polls.Variant) == 1 {
		return ""
	}
	return fmt.Sprintf(" (%s of this scaled job)", words.Short(polls.PeriodUS))
}

// inSteps prints a median in steps of the job, "" without a job.
func inSteps(d *Detection) string {
	if d.Steps.Count == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s steps)", words.Three(d.Steps.Median))
}

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	if len(s.Detections) == 0 {
		return nil
	}
	p := section.Part{ID: "detection", Title: "Which link, since when, who waits", Level: section.Telling, Blocks: []section.Block{s.figure(), s.table()}}
	if d := s.first(); d != nil {
		p.Says = words.Capital(s.says(d)) + "."
	} else {
		p.Says = "No variant has CSIG: hosts do not know which link is slow."
	}
	return []section.Part{p}
}

// Marks of the two ways of looking.
var (
	tags  = chart.Sign{Shape: chart.Dot, Paint: chart.Good}
	polls = chart.Sign{Shape: chart.Hollow, Paint: chart.Rest}
)

// figure shows how long each way takes to name the link, in steps, or else in milliseconds.
func (s *Section) figure() *chart.Figure {
	unit, high := "steps", 0.0
	of := func(d *Detection) reading.Median { return d.Steps }
	if !slices.ContainsFunc(s.Detections, func(d Detection) bool { return d.Steps.Count > 0 }) {
		unit = "ms"
		of = func(d *Detection) reading.Median {
			t := d.After
			t.Median, t.Min, t.Max = t.Median/1000, t.Min/1000, t.Max/1000
			return t
		}
	}
	var rows []chart.IntervalRow
	for i := range s.Detections {
		d := &s.Detections[i]
		if d.Looks == 0 || d.Found == 0 {
			continue
		}
		t := of(d)
		high = max(high, t.Max)
		sign := polls
		if d.By == ByTags {
			sign = tags
		}
		text := words.Short(d.After.Median)
		if d.Wrong > 0 {
			text += fmt.Sprintf(", %s wrong", words.Number(float64(d.Wrong)))
		}
		rows = append(rows, chart.IntervalRow{Name: d.Variant + ", " + d.By, Text: text, Tip: fmt.Sprintf("%s in %s: %s after the link slowed, found in %d of %d looks", d.By, d.Variant, words.Short(d.After.Median), d.Found, d.Looks),
			Interval: chart.Interval{Effect: t.Median, Low: t.Min, High: t.Max, Sign: sign}})
	}
	return &chart.Figure{ID: "detection", Title: "How long it takes to name the slow link",
		Caption: "From when the link slows to when its name is first right: the median, and the range over seeds and, of polls, over ten times of the first poll. At the right the time of the run, and how many wrong names there were in all looks. Looks that do not find it before the run ends are left out.",
		Legend:  []chart.Key{{Name: "tags at the hosts", Sign: tags}, {Name: "polls of the counters of switches", Sign: polls}},
		Panels:  []chart.Panel{{Chart: &chart.Intervals{Name: "Time to the right name", X: chart.Scaling{Name: "After the link slowed", Unit: unit, Max: max(high*1.05, 0.1)}, Rows: rows}}}}
}

// maxHosts is how many hosts the table names.
const maxHosts = 4

// table lists what each way named.
func (s *Section) table() *section.Table {
	t := &section.Table{Label: "Ways of finding it", Columns: phrases.Columns("Variant", "Fault", "Link", "By", "#Each", "#Found", "#After", "#Steps", "#Wrong names", "Waiting"),
		Note: fmt.Sprintf("By tags: hosts rank, each %d µs, the ports that samples name by what these say of them; a port that is among the worst again and again is named. It knows neither rates nor when the link slowed. By polls: an uplink that sent less than half of what the others of its switch did, at ten times of the first poll. Each: in the time of the run, which is as much shorter as the job; such a poll sees as many packets less than a real one, and names wrong links more often. Found: of the looks before the run ended. Wrong names: in all looks, before and after. Waiting: hosts whose packets wait there, by tags.", window)}
	for i := range s.Detections {
		d := &s.Detections[i]
		each, after, steps, waiting := words.None, words.None, words.None, words.None
		if d.PeriodUS > 0 {
			each = words.Short(d.PeriodUS)
		}
		if d.Found > 0 {
			after, steps = words.Short(d.After.Median), words.None
			if d.Steps.Count > 0 {
				steps = words.Three(d.Steps.Median)
			}
		}
		if n := len(d.Waiting); n > 0 {
			waiting = strings.Join(d.Waiting[:min(n, maxHosts)], ", ")
			if n > maxHosts {
				waiting += fmt.Sprintf(" and %d more", n-maxHosts)
			}
		}
		found, wrong := fmt.Sprintf("%d of %d", d.Found, d.Looks), words.Number(float64(d.Wrong))
		if d.Looks == 0 {
			found, wrong = "no tags", words.None
		}
		t.Rows = append(t.Rows, section.Row{Variant: d.Variant, Cells: phrases.Cells(d.Variant, d.Fault, phrases.Arrow(d.Link), d.By, each, found, after, steps, wrong, waiting)})
	}
	phrases.Same(t, "Fault", "Link")
	return t
}
