package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/circle"
)

// Microseconds is a time that JSON has in microseconds.
type Microseconds units.Duration

// MarshalJSON implements json.Marshaler.
func (m Microseconds) MarshalJSON() ([]byte, error) {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	return []byte(sign + units.FormatDecimal(int64(m), int64(units.Microsecond))), nil
}

// String returns the time with four digits.
func (m Microseconds) String() string { return digits(units.Duration(m), 0) }

// digits returns a time as text with four digits; see fourDigits.
func digits(d units.Duration, direction int) string { return fourDigits(d, direction).String() }

// fourDigits returns a time with four digits, rounded down with a direction of -1, up with 1,
// and to the nearest with 0.
func fourDigits(d units.Duration, direction int) units.Duration {
	unit := units.Duration(1)
	for d/unit >= 10000 || -d/unit >= 10000 {
		unit *= 10
	}
	rest := d % unit
	if direction > 0 && rest > 0 || direction == 0 && rest >= unit-rest && rest > 0 {
		return d + unit - rest
	}
	return d - rest
}

// Text returns the answer in words.
func (r *Result) Text() string {
	var text strings.Builder
	shared := 0
	for i := range r.Links {
		if len(r.Links[i].Jobs) > 1 {
			shared++
		}
	}
	fmt.Fprintf(&text, "%s on %s: %s\n\n", spelling.Plural(len(r.Jobs), "job"), spelling.Plural(len(r.Links), "link"), r.longVerdict(shared))
	starts := r.starts()
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tperiod\tcomputes\tcommunicates\ton the grid\tstart\tprofile")
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(t, "%s\t%v\t%v\t%v\t%s\t%s\t%s\n", j.Name, j.Period, j.Compute, j.Communicate, j.rounding(), starts[i], j.source())
	}
	t.Flush()
	if len(r.Links) > 0 {
		fmt.Fprintln(t, "\nlink\tjobs\tcapacity\tcircle\tscore at zero\tat best\twith these starts\tkeep apart")
	}
	for i := range r.Links {
		l := &r.Links[i]
		capacity := "any"
		if r.shared[i].capacity > 0 {
			capacity = r.shared[i].capacity.String()
		}
		if len(l.Jobs) < 2 {
			fmt.Fprintf(t, "%s\t%s\t%s\t\t\t\t\tnot shared\n", l.Name, strings.Join(l.Jobs, ", "), capacity)
			continue
		}
		best := fmt.Sprintf("%.4f", l.Best)
		if !l.Proven {
			best = "at least " + best
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%.4f\t%s\t%.4f\t%s\n", l.Name, strings.Join(l.Jobs, ", "), capacity, l.Circle, l.Zero, best, l.With, r.apart(i))
	}
	t.Flush()
	if len(r.Links) > 0 {
		kept, free := false, false
		for i := range r.Jobs {
			kept, free = kept || r.Jobs[i].Slot != nil, free || r.Jobs[i].Slot == nil
		}
		with := "with these starts"
		switch {
		case kept && free:
			with = "with these starts, or the schedule"
		case kept:
			with = "with the schedule"
		}
		fmt.Fprintf(t, "\niteration\talone\tfair sharing\t%s\n", with)
		for i := range r.Jobs {
			if j := &r.Jobs[i]; j.Fair > 0 {
				fmt.Fprintf(t, "%s\t%v\t%v%s\t%v%s\n", j.Name, j.Alone, j.Fair, times(j.Alone, j.Fair), j.With, times(j.Alone, j.With))
			} else {
				fmt.Fprintf(t, "%s\t%v\tnot predicted\t\n", j.Name, j.Alone)
			}
		}
		t.Flush()
	}
	text.WriteString(r.slots())
	if len(r.Advice) > 0 {
		text.WriteByte('\n')
	}
	for _, a := range r.Advice {
		fmt.Fprintln(&text, a)
	}
	return text.String()
}

func (r *Result) longVerdict(shared int) string {
	switch {
	case shared == 0 && r.fabric:
		return "no link of their fabric carries several jobs that could fill it"
	case shared == 0:
		return "no link is shared"
	case r.Compatible && r.Separate != circle.Yes.String():
		return "compatible, with bursts that the link carries at one time"
	case r.Compatible:
		return "compatible"
	case r.Fits == circle.NotKnown.String():
		return "not known: the search gave up before it had looked at all start offsets"
	}
	return "not compatible"
}

// starts returns the start offsets in words: with four digits where the links of a cluster
// carry all with these too, else exactly.
func (r *Result) starts() []string {
	all := make([]string, len(r.Jobs))
	for i := range r.plan.Clusters {
		c := &r.plan.Clusters[i]
		short := slices.Clone(r.plan.Starts)
		for _, j := range c.Jobs {
			short[j] = fourDigits(short[j], 0)
		}
		exact := false
		if r.carries(c) {
			for _, k := range c.Links {
				exact = exact || len(circle.Overloads(r.profiles, &r.links[k], short, r.plan.Links[k].Perimeter)) > 0
			}
		}
		for _, j := range c.Jobs {
			if all[j] = short[j].String(); exact {
				all[j] = r.plan.Starts[j].String()
			}
		}
	}
	return all
}

// apart says whether the jobs of a link keep apart: of links in a loop, together with the
// others.
func (r *Result) apart(link int) string {
	for i := range r.plan.Clusters {
		c, l := &r.plan.Clusters[i], &r.Links[link]
		switch {
		case !slices.Contains(c.Links, link):
		case c.Method != circle.Joint:
			return by(l.Separate, l.Gap)
		case c.Separate.String() == l.Separate:
			return by(l.Separate, Microseconds(c.Gap))
		default:
			return fmt.Sprintf("%s; %s without the others", c.Separate, l.Separate)
		}
	}
	return r.Links[link].Separate
}

func by(answer string, gap Microseconds) string {
	if gap > 0 {
		return fmt.Sprintf("%s, by %v", answer, gap)
	}
	return answer
}

// slots returns the schedules as text for the jobs of an experiment; "" if there are none.
func (r *Result) slots() string {
	var text strings.Builder
	for i := range r.Clusters {
		v := &r.Clusters[i]
		first := true
		for _, j := range r.plan.Clusters[i].Jobs {
			job := &r.Jobs[j]
			if job.Slot == nil {
				continue
			}
			if first {
				fmt.Fprintf(&text, "\nschedule of %s, with %s %% of slack, for the jobs of an experiment:\n", and(v.Jobs), percent(v.Slack))
				first = false
			}
			fmt.Fprintf(&text, "  {name: %s, start: %v, schedule: {period: %v, offset: %v}}\n", job.Name, job.Begin, job.Slot.Period, job.Slot.Offset)
		}
	}
	return text.String()
}

// times returns how many times as long as alone an iteration takes.
func times(alone, shared Microseconds) string {
	if alone == 0 || math.Abs(float64(shared)/float64(alone)-1) < 0.0005 {
		return ""
	}
	return fmt.Sprintf(" (%.2fx)", float64(shared)/float64(alone))
}

// rounding says what the grid has made of the profile.
func (j *JobResult) rounding() string {
	text := "as it is"
	if j.Grid != j.Period {
		if text = fmt.Sprintf("%v (+%s %%)", j.Grid, percent(j.Cost)); j.Cost < 0.0001 {
			text = fmt.Sprintf("%v (+0 %%)", j.Grid)
		}
	}
	if j.Grown > 0 {
		text += fmt.Sprintf(", bursts +%v", j.Grown)
	}
	return text
}

func (j *JobResult) source() string {
	if j.Stretched {
		return j.Source + "; stretched, as its link is slower than its bursts"
	}
	return j.Source
}

// percent returns a share in per cent with two digits, at least 0.01.
func percent(share float64) string {
	if share > 0 && share < 0.0001 {
		return "<0.01"
	}
	return fmt.Sprintf("%.2f", 100*share)
}

// and joins words.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
