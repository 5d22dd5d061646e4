package reports

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// scaleTable says how the most telling ports, and the ports of each tier, were used at the
// scale of switch telemetry and in telemetry windows.
func scaleTable(r *analysis.Result) table {
	t := table{Label: "Ports at two scales"}
	fine := "windows"
	for i := range r.Utilisation {
		u := &r.Utilisation[i]
		fine = "windows of " + span(u.FineUS)
		add := func(port string, s *analysis.WindowShares) {
			t.Rows = append(t.Rows, []cell{{Text: u.Variant}, {Text: port}, {Text: percent(s.MeanShare)}, {Text: percent(s.P99)}, {Text: percent(s.Peak)}, {Text: percent(s.FullShare)}})
		}
		for k := range u.Ports {
			add(portName(&u.Ports[k].Place), &u.Ports[k].WindowShares)
		}
		for k := range u.Tiers {
			tier := &u.Tiers[k]
			add(fmt.Sprintf("%d ports: %s", tier.Ports, className(tier.Tier, tier.Direction)), &tier.WindowShares)
		}
		if u.RunMean {
			t.Note = "The runs are shorter than two seconds: telemetry that reports once in a second shows no more than the mean."
		}
	}
	t.Columns = []column{{Name: "variant"}, {Name: "port"}, {Name: "mean", Number: true}, {Name: fine + ": 99th percentile", Number: true}, {Name: "busiest", Number: true},
		{Name: fmt.Sprintf("share of them used to %.0f %% or more", 100*analysis.FullWindow), Number: true}}
	t.bound("ports", "the JSON form of this report")
	return t
}

// shiftTable says where the bottleneck was, in one variant and another, and before and after
// faults.
func shiftTable(r *analysis.Result) table {
	t := table{Label: "Where the bottleneck was", Columns: []column{{Name: "before"}, {Name: "after"}, {Name: "of heavily loaded"}, {Name: "mostly before"}, {Name: "mostly after"}, {Name: "seeds that agree", Number: true}}}
	for i := range r.Shifts {
		s := &r.Shifts[i]
		before, after := s.Before.Variant, s.After.Variant
		if s.Fault != "" {
			before, after = before+" before "+s.Fault, "afterwards"
		}
		basis := "windows of switch ports"
		if s.Basis == analysis.BasisSamples {
			basis = "samples of " + s.Signal
		}
		t.Rows = append(t.Rows, []cell{{Text: before}, {Text: after}, {Text: basis}, {Text: prevalent(s, s.FromTier, s.From, false)}, {Text: prevalent(s, s.ToTier, s.To, true)}, {Text: fmt.Sprintf("%d of %d", s.Agree, s.Seeds)}})
	}
	t.bound("comparisons", "the JSON form of this report")
	return t
}

// prevalent names the tier where most of a side is and, if it is a place, the port.
func prevalent(s *analysis.Shift, tier, place int, after bool) string {
	if tier < 0 || tier >= len(s.Tiers) {
		return none
	}
	share := func(before, then analysis.ShiftShare) float64 {
		if after {
			return then.Share
		}
		return before.Share
	}
	at := &s.Tiers[tier]
	text := fmt.Sprintf("%s (%s)", className(at.Tier, at.Direction), percent(share(at.Before, at.After)))
	if place < 0 || place >= len(s.Places) {
		return text
	}
	p := &s.Places[place]
	if v := share(p.Before, p.After); v >= analysis.MovedShare {
		text += fmt.Sprintf("; %s (%s)", strings.Join(p.Ports[:min(len(p.Ports), 3)], ", "), percent(v))
		if more := len(p.Ports) - 3; more > 0 {
			text += fmt.Sprintf(" or one of %d others", more)
		}
	}
	return text
}
