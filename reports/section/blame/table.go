package blame

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

const (
	maxRows  = 10 // slow collectives or transfers of a variant that are listed
	maxAlike = 3  // instances of one collective that are listed
	muchLost = 2  // a transfer that takes so many times as long as unloaded, for a reason, stands out
)

// Parts implements section.Section.
func (s *Section) Parts() []section.Part {
	all := s.told()
	if len(s.Blame) == 0 {
		return nil
	}
	t := s.table()
	p := section.Part{ID: "blame", Title: t.Label, Level: section.Plain, Blocks: []section.Block{t}}
	if len(all) > 0 {
		p.Says = words.Capital(s.lostAt(all)) + "."
	}
	switch {
	case s.ofJobs():
		p.Level = section.Loud
	case slices.ContainsFunc(all, func(b *Blame) bool {
		return b.US() >= muchLost*b.UnloadedUS && (b.Kind == Incast || b.Fault != "" || b.Free > 0 && !b.Short)
	}):
		p.Level = section.Telling
	}
	return []section.Part{p}
}

// table lists where the slow collectives, or transfers, of each variant lost their time.
func (s *Section) table() *section.Table {
	saves := slices.ContainsFunc(s.Blame, func(b Blame) bool { return b.Saves != nil })
	const at = 7 // of the column of what would be saved
	columns := []string{"What", "Variant", "#Time", "#Unloaded", "#Lost", "Main wait at", "#Time there", "Flow", "Another path"}
	if saves {
		columns = slices.Insert(columns, at, "#Removing it would save")
	}
	t := &section.Table{Columns: phrases.Columns(columns...)}
	rows, alike := map[string]int{}, map[[2]string]int{}
	queues, cut, transfers, collectives := false, false, false, false
	time := func(us float64) string { return words.Tenths(us, words.Delays) }
	for i := range s.Blame {
		b := &s.Blame[i]
		if b.Collective != "" && alike[[2]string{b.Variant, b.Collective}] == maxAlike || rows[b.Variant] == maxRows {
			cut = true
			continue
		}
		rows[b.Variant]++
		alike[[2]string{b.Variant, b.Collective}]++
		queues = queues || b.By == ByQueues
		transfers, collectives = transfers || b.Transfer != "", collectives || b.Collective != ""
		cells := phrases.Cells(b.name(), b.Variant, time(b.US()), time(b.UnloadedUS), time(b.LostUS),
			b.place(), fmt.Sprintf("%s (%s)", time(b.WaitUS), words.Percent(b.Share)), b.who(), b.anotherPath())
		if saves {
			cells = slices.Insert(cells, at, phrases.Cells(b.saves())...)
		}
		t.Rows = append(t.Rows, section.Row{Variant: b.Variant, Cells: cells})
	}
	switch {
	case transfers && collectives:
		t.Label = "Where slow collectives and transfers waited"
	case transfers:
		t.Label = "Where slow transfers waited"
	default:
		t.Label = "Where slow collectives waited"
	}
	t.Note = "Of the seed that charts show. Unloaded: what the messages of the critical path take on an idle fabric with all ranks in time; "
	if transfers {
		t.Note = "Of the seed that charts show. Unloaded: on an idle fabric; "
	}
	t.Note += "lost: the rest. Incast: the last hop to a receiver to which several hosts send in the same telemetry windows. " +
		fmt.Sprintf("A port is free if it is used to less than %s in the time of the transfer.", words.Percent(freeBelow))
	if saves {
		t.Note += fmt.Sprintf(" Removing it would save: predicted share of the recorded steps of the job, with the link at %d times its rate, or the rank as fast as the median of the ranks; csiglab whatif checks it.", Relief)
	}
	if queues {
		t.Note += " Places by queues are the ports with the deepest queue on the shortest paths; CSIG samples would name the port itself."
	}
	if cut {
		t.Note += fmt.Sprintf(" The first %d of each variant, and %d of a collective; report --json has up to %d.", maxRows, maxAlike, maxBlame)
	}
	phrases.ToldFirst(&s.reading.Facts, t)
	phrases.Same(t, "Flow")
	phrases.Bound(t, "collectives and transfers", "report --json")
	return t
}

// name names what was slow.
func (b *Blame) name() string {
	if b.Transfer != "" {
		if b.Open {
			return "flow " + b.Transfer + " (not done)"
		}
		return "flow " + b.Transfer
	}
	return fmt.Sprintf("%s of %s, step %d, group %d", b.Collective, b.Job, b.Step, b.Group)
}

// place names the place where it waited, and its kind.
func (b *Blame) place() string {
	by := ""
	if b.Fault != "" {
		by = ", under fault " + b.Fault
	}
	switch b.By {
	case ByQueues:
		by += ", by queues"
	case ByLoad:
		by += ", by load"
	}
	switch b.Kind {
	case Incast:
		return fmt.Sprintf("%s: incast of %d hosts%s%s", b.port(), b.Sources, b.holds(), by)
	case Edge:
		return fmt.Sprintf("%s: the last hop%s%s", b.port(), b.holds(), by)
	case Core:
		return fmt.Sprintf("%s: within the fabric%s%s", b.port(), b.holds(), by)
	case Rank:
		return fmt.Sprintf("rank %d (%s), which came late or computed long", b.Rank, b.Node)
	}
	return fmt.Sprintf("the NIC of %s: its own messages", b.Node)
}

// holds names the port where packets waited for another one.
func (b *Blame) holds() string {
	if b.HeldBack == "" {
		return ""
	}
	return ", which holds back " + phrases.Arrow(b.HeldBack)
}

// who names who waited there, and for whom.
func (b *Blame) who() string {
	var parts []string
	if b.Flow != "" && b.Transfer == "" {
		parts = append(parts, b.Flow)
		if b.Src != "" {
			parts = append(parts, b.Src+" to "+b.Dst)
		}
	}
	if b.Kind == Incast {
		names := strings.Join(b.SourceNames, ", ")
		if more := b.Sources - len(b.SourceNames); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, "senders: "+names)
	}
	if parts == nil {
		return words.None
	}
	return strings.Join(parts, ", ")
}

// anotherPath says whether the transfer could have taken a free port.
func (b *Blame) anotherPath() string {
	switch {
	case b.Port == "":
		return words.None
	case b.Short && b.Other > 0:
		return fmt.Sprintf("%d; the time is shorter than a telemetry window, so that their load is not known", b.Other)
	case b.Other == 0:
		return "none"
	case b.Free == 0:
		return fmt.Sprintf("none free: the freest of %d others, %s, was used to %s", b.Other, phrases.Arrow(b.Freest), words.Percent(b.FreestUse))
	}
	return fmt.Sprintf("%d of %d others free, %s used to %s; this one to %s", b.Free, b.Other, phrases.Arrow(b.Freest), words.Percent(b.FreestUse), words.Percent(b.PortUse))
}
