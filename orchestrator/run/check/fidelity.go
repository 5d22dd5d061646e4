package check

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// A port is busy when it sent back to back for this share of the run, and often
// enough to tell a rate.
const (
	busyShare   = 0.05
	busyPackets = 100
)

// Measure returns how well a run kept real time, under a dilation.
func Measure(p *plan.Plan, dilation float64, out *backend.Outcome) *runfolder.Fidelity {
	t := out.Timing
	smallest := p.SmallestDelay()
	relative := func(d time.Duration) float64 { return float64(d) / (smallest.Seconds() * dilation * 1e9) }
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	f := &runfolder.Fidelity{
		Dilation:        dilation,
		SmallestDelayUS: smallest.Microseconds(),
		RealTime:        t.RealTime,
		Events:          t.Lateness.Events,
		LatenessP50US:   us(t.Lateness.Quantile(0.5)),
		LatenessP99US:   us(t.Lateness.Quantile(0.99)),
		LatenessMaxUS:   us(t.Lateness.Max),
		LatenessShare:   relative(t.Lateness.Quantile(0.99)),
		Frames:          t.Sent,
		Unread:          t.Unread,
		Foreign:         out.Strays,
		Displaced:       t.Displaced,
		DisplacedMaxUS:  t.DisplacedMax.Microseconds(),
		CPUShare:        out.CPU.Seconds() / (out.Setup + out.Wall).Seconds() / float64(runtime.NumCPU()),
		Behind:          out.Behind.Seconds(),
	}
	f.Mismatches = mismatches(p, out)
	for _, m := range f.Mismatches {
		f.Lost += m.Lost
		f.Surplus += m.Surplus
	}
	f.Underlay = underlay(p, dilation, out.Cut)
	for _, s := range out.Shaped {
		f.Shaped += s.Dropped
	}
	for _, port := range t.Ports {
		if port.Packets >= busyPackets && float64(port.Model) >= busyShare*float64(out.End) {
			f.Links = append(f.Links, runfolder.LinkRate{
				Node: int32(port.Node), Port: int32(port.Port), Packets: port.Packets, Rate: port.Rate(dilation),
			})
		}
	}
	slices.SortFunc(f.Links, func(a, b runfolder.LinkRate) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port))
	})
	return f
}

// Fidelity compares how well a run kept real time with its budget.
func Fidelity(p *plan.Plan, f *runfolder.Fidelity, b experiment.Budget) runfolder.Check {
	const name = "fidelity"
	var over []string
	exceeds := func(format string, args ...any) { over = append(over, fmt.Sprintf(format, args...)) }
	advice := ""
	late := fmt.Sprintf("events were %.0f us late (p99), %.2g of the smallest delay %.3g us times %v", f.LatenessP99US, f.LatenessShare, f.SmallestDelayUS, f.Dilation)
	if f.Behind > 0 {
		exceeds("the run was given up when it was %.1f s behind", f.Behind)
	}
	if f.LatenessShare > b.Lateness {
		exceeds("%s; the budget is %v", late, b.Lateness)
	}
	if share := float64(f.Displaced) / float64(max(1, f.Frames)); share > b.Displaced {
		exceeds("%d of %d packets came too late for their moment, by up to %.3g us of model time; the budget is %v", f.Displaced, f.Frames, f.DisplacedMaxUS, b.Displaced)
	}
	if f.Lost > 0 && f.Behind == 0 {
		exceeds("%d frames were lost on their way%s", f.Lost, where(f.Mismatches, func(m runfolder.LinkMismatch) int64 { return m.Lost }))
	}
	worst, wrong := runfolder.LinkRate{Rate: 1}, 0
	for _, l := range f.Links {
		if off(l) > b.Rate {
			wrong++
		}
		if off(l) >= off(worst) {
			worst = l
		}
	}
	if wrong > 0 {
		exceeds("%d of %d busy links were off their rate; %s port %d sent at %.3g of it; the budget is %v",
			wrong, len(f.Links), p.Graph.Nodes[worst.Node].Name, worst.Port, worst.Rate, b.Rate)
	}
	for _, u := range f.Underlay {
		if u.Share > b.Underlay {
			exceeds("%s and %s are %.3g us apart (half of the round trip of %.3g us, and clocks that differ by %.3g us), %.2g of the delay %.3g us of link %s times %v; the budget is %v, which takes a dilation of at least %.0f",
				u.A, u.B, u.RoundTripUS/2+math.Abs(u.ClockOffsetUS), u.RoundTripUS, math.Abs(u.ClockOffsetUS), u.Share, u.DelayUS, u.Link, f.Dilation,
				b.Underlay, math.Ceil(f.Dilation*u.Share/b.Underlay))
		}
	}
	if len(over) > 0 {
		advice = "; a larger --dilation helps"
	}
	if f.Unread > 0 {
		exceeds("%d frames of programs found no reader at their hosts: too many at a time, or longer than csig0's MTU", f.Unread)
	}
	if f.Surplus > 0 {
		exceeds("%d frames were received that no node sent%s", f.Surplus, where(f.Mismatches, func(m runfolder.LinkMismatch) int64 { return m.Surplus }))
	}
	if len(over) > 0 {
		return failed(name, strings.Join(over, "; ")+advice)
	}
	between := ""
	if len(f.Underlay) > 0 {
		u := slices.MaxFunc(f.Underlay, func(a, b runfolder.Underlay) int { return cmp.Compare(a.Share, b.Share) })
		between = fmt.Sprintf("; the way between %s and %s takes %.2g of its links' delay", u.A, u.B, u.Share)
	}
	return passed(name, "%s; %d of %d packets displaced, no frame lost, %d busy links within %.2g of their rate%s",
		late, f.Displaced, f.Frames, len(f.Links), off(worst), between)
}

// underlay returns what lies between the machines of a run in parts; c is nil for others.
func underlay(p *plan.Plan, dilation float64, c *backend.Cut) (list []runfolder.Underlay) {
	if c == nil {
		return nil
	}
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	for _, t := range c.RoundTrips {
		u := runfolder.Underlay{
			A: t.A, B: t.B, RoundTripUS: us(t.Median), RoundTripMin: us(t.Least), RoundTripP99: us(t.P99),
			ClockOffsetUS: us(t.ClockOffset), ClockErrorUS: us(t.ClockError),
		}
		for _, l := range c.Links {
			if l.From != t.A || l.To != t.B {
				continue
			}
			at := slices.IndexFunc(p.Links, func(of plan.Link) bool { return of.Name == l.Link })
			if delay := p.Links[at].Delay.Microseconds(); u.Link == "" || delay < u.DelayUS {
				u.Link, u.DelayUS = l.Link, delay
			}
		}
		if u.Link != "" {
			u.Share = (u.RoundTripUS/2 + math.Abs(u.ClockOffsetUS)) / (u.DelayUS * dilation)
		}
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b runfolder.Underlay) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
	return list
}

// where names the links that have most of something, for a message.
func where(all []runfolder.LinkMismatch, of func(runfolder.LinkMismatch) int64) string {
	const most = 3
	all = slices.DeleteFunc(slices.Clone(all), func(m runfolder.LinkMismatch) bool { return of(m) == 0 })
	slices.SortStableFunc(all, func(a, b runfolder.LinkMismatch) int { return cmp.Compare(of(b), of(a)) })
	text := ""
	for i, m := range all {
		if i == most {
			return text + fmt.Sprintf(", and on %d others", len(all)-most)
		}
		text += fmt.Sprintf(", %d on link %s from %s to %s", of(m), m.Link, m.From, m.To)
	}
	if text == "" {
		return ""
	}
	return ":" + text[1:]
}

func off(l runfolder.LinkRate) float64 { return max(l.Rate-1, 1-l.Rate) }
