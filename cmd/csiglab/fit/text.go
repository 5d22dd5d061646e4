package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

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

// digits returns a time with four digits, rounded down with a direction of -1, up with 1,
// and to the nearest with 0, or if the difference is less than a hundred thousandth.
func digits(d units.Duration, direction int) string {
	unit := units.Duration(1)
	for d/unit >= 10000 || -d/unit >= 10000 {
		unit *= 10
	}
	rest := d % unit
	if min(rest, unit-rest) < d/100_000 {
		direction = 0
	}
	switch {
	case direction > 0 && rest > 0 || direction == 0 && rest >= unit-rest && rest > 0:
		d += unit - rest
	default:
		d -= rest
	}
	return d.String()
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
	verdict := "compatible"
	switch {
	case shared == 0:
		verdict = "no link is shared"
	case r.Compatible && r.Separate != circle.Yes.String():
		verdict = "compatible, with bursts that the link carries at one time"
	case !r.Compatible && r.Separate == circle.NotKnown.String():
		verdict = "not known: the search gave up before it had looked at all start offsets"
	case !r.Compatible:
		verdict = "not compatible"
	}
	fmt.Fprintf(&text, "%s on %s: %s\n\n", count(len(r.Jobs), "job"), count(len(r.Links), "link"), verdict)
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "job\tperiod\tcomputes\tcommunicates\ton the grid\tstart\tprofile")
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(t, "%s\t%v\t%v\t%v\t%s\t%v\t%s\n", j.Name, j.Period, j.Compute, j.Communicate, j.rounding(), j.Start, j.source())
	}
	t.Flush()
	fmt.Fprintln(t, "\nlink\tjobs\tcapacity\tcircle\tscore at zero\tat best\twith these starts\tkeep apart")
	for i := range r.Links {
		l := &r.Links[i]
		capacity := "any"
		if l.Gbps > 0 {
			capacity = r.links[i].Capacity.String()
		}
		if len(l.Jobs) < 2 {
			fmt.Fprintf(t, "%s\t%s\t%s\t\t\t\t\tnot shared\n", l.Name, strings.Join(l.Jobs, ", "), capacity)
			continue
		}
		apart := l.Separate
		if l.Gap > 0 {
			apart = fmt.Sprintf("%s, by %v", apart, l.Gap)
		}
		best := fmt.Sprintf("%.4f", l.Best)
		if !l.Proven {
			best = "at least " + best
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%.4f\t%s\t%.4f\t%s\n", l.Name, strings.Join(l.Jobs, ", "), capacity, l.Circle, l.Zero, best, l.With, apart)
	}
	t.Flush()
	with := "with these starts"
	if r.Compatible {
		with = "with these starts, kept"
	}
	fmt.Fprintf(t, "\niteration\talone\tfair sharing\t%s\n", with)
	for i := range r.Jobs {
		j := &r.Jobs[i]
		fmt.Fprintf(t, "%s\t%v\t%v%s\t%v%s\n", j.Name, j.Alone, j.Fair, times(j.Alone, j.Fair), j.With, times(j.Alone, j.With))
	}
	t.Flush()
	text.WriteByte('\n')
	for _, a := range r.Advice {
		fmt.Fprintln(&text, a)
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

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// rounding says what the grid has made of the profile.
func (j *JobResult) rounding() string {
	text := "as it is"
	if j.Grid != j.Period {
		text = fmt.Sprintf("%v (+%s %%)", j.Grid, percent(j.Cost))
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

// advice says in words what to do.
func (r *Result) advice(given []circle.Profile, o Options) (all []string) {
	for _, l := range r.plan.Loops {
		jobs, links := r.names(l.Jobs), make([]string, len(l.Links))
		for i, k := range l.Links {
			links[i] = r.links[k].Name
		}
		all = append(all, fmt.Sprintf("Loop: %s on %s. Offsets that suit each link alone may contradict each other there, so these links have been solved together.", and(jobs), and(links)))
	}
	compatible, broken := false, false
	for i := range r.plan.Clusters {
		c := &r.plan.Clusters[i]
		if len(c.Links) == 0 {
			continue
		}
		carries := !slices.ContainsFunc(c.Links, func(k int) bool { return !r.plan.Links[k].Carries })
		if carries {
			compatible = true
			all = append(all, r.fits(c))
			continue
		}
		broken = true
		all = append(all, r.misfits(c)...)
		if more := r.wider(c, given, o); more != "" {
			all = append(all, more)
		}
	}
	if compatible && !broken {
		all = append(all, "Flow scheduling keeps them there: give each job the schedule of --json (jobs[].schedule: {period, offset}). Unfairness finds such offsets by itself: adaptive R_AI, MLTCP, unequal timers or priorities.")
	}
	if broken {
		all = append(all, "Where jobs do not fit, static unfairness and priorities help one at the cost of another. Adaptive R_AI and MLTCP end fair. Another placement, with pairs that fit, helps all.")
	}
	return all
}

// fits says how the jobs of a cluster have to start.
func (r *Result) fits(c *circle.Cluster) string {
	names := r.names(c.Jobs)
	if len(c.Jobs) == 2 && c.Separate == circle.Yes {
		a, b := &r.profiles[c.Jobs[0]], &r.profiles[c.Jobs[1]]
		if p, err := circle.Pair(a, b); err == nil && p.Compatible() {
			return fmt.Sprintf("%s fit: start %s %s after %s%s.", and(names), names[1], spans(p.Offsets), names[0], modulo(&p, b))
		}
	}
	starts := make([]string, 0, len(names))
	for i, j := range c.Jobs[1:] {
		starts = append(starts, fmt.Sprintf("%s %v", names[i+1], r.Jobs[j].Start))
	}
	text := fmt.Sprintf("%s fit: start %s after %s", and(names), and(starts), names[0])
	if c.Separate != circle.Yes {
		return text + ". Some of their bursts are at one time then, and the links carry them."
	}
	return text + "."
}

// spans returns valid offsets in words, rounded inwards.
func spans(all []circle.Range) string {
	const most = 3
	var words []string
	for i, s := range all {
		if i == most {
			words = append(words, fmt.Sprintf("%d more ranges", len(all)-most))
			break
		}
		from, to := digits(s.From, 1), digits(s.To, -1)
		if s.Length() < s.To/1000 {
			words = append(words, digits(s.From+s.Length()/2, 0))
			continue
		}
		words = append(words, from+" to "+to)
	}
	return strings.Join(words, ", or ")
}

// modulo says which other offsets are valid.
func modulo(p *circle.Pairing, second *circle.Profile) string {
	if p.Modulus == second.Period {
		return ""
	}
	return fmt.Sprintf(", or any multiple of %s later", digits(p.Modulus, 0))
}

// misfits says why the jobs of a cluster do not fit, and what is best.
func (r *Result) misfits(c *circle.Cluster) (all []string) {
	for _, k := range c.Links {
		f, jobs := &r.plan.Links[k], r.links[k].Jobs
		if f.Carries {
			continue
		}
		on := ""
		if len(r.links) > 1 {
			on = " on " + r.links[k].Name
		}
		names := and(r.names(jobs))
		busy := 0.0
		for _, j := range jobs {
			busy += float64(r.profiles[j].Communicate()) / float64(r.profiles[j].Period)
		}
		a, b := &r.profiles[jobs[0]], &r.profiles[jobs[1]]
		p, err := circle.Pair(a, b)
		switch {
		case f.Separate == circle.Yes:
			all = append(all, fmt.Sprintf("%s would fit%s, but not with the offsets that the other links want.", names, on))
		case f.Separate == circle.NotKnown:
			all = append(all, fmt.Sprintf("Whether %s fit%s is not known: the search gave up.", names, on))
		case len(jobs) == 2 && err == nil && len(a.Bursts) == 1 && len(b.Bursts) == 1:
			all = append(all, fmt.Sprintf("%s do not fit%s: bursts of %s and %s are longer together than the %s that their periods have in common.",
				names, on, digits(a.Communicate(), 0), digits(b.Communicate(), 0), digits(p.Modulus, 0)))
		case busy > 1:
			all = append(all, fmt.Sprintf("%s do not fit%s: they communicate %.2f of the time, all together.", names, on, busy))
		default:
			all = append(all, fmt.Sprintf("%s do not fit%s: no start offsets keep all of their bursts apart.", names, on))
		}
		all = append(all, fmt.Sprintf("With the starts above they want %s %% more than the link has, over the time; all together at 0 they want %s %%.", percent(1-f.With), percent(1-f.Zero)))
		if pairs := r.pairs(jobs); pairs != "" {
			all = append(all, pairs)
		}
	}
	return all
}

// pairs says which two of more jobs fit.
func (r *Result) pairs(jobs []int) string {
	const most = 8
	if len(jobs) < 3 {
		return ""
	}
	var good []string
	for x, i := range jobs {
		for _, j := range jobs[x+1:] {
			if p, err := circle.Pair(&r.profiles[i], &r.profiles[j]); err == nil && p.Compatible() {
				good = append(good, r.Jobs[i].Name+" with "+r.Jobs[j].Name)
			}
		}
	}
	switch {
	case len(good) == 0:
		return "No two of them fit."
	case len(good) > most:
		good = append(good[:most], fmt.Sprintf("%d more", len(good)-most))
	}
	return "Pairs that fit: " + strings.Join(good, "; ") + "."
}
