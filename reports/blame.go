package reports

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/reports/analysis"
)

// blameTitle is the title of the blame table.
const blameTitle = "Where slow collectives and transfers waited"

// BlameTitle returns the title of the blame table.
func (*page) BlameTitle() string { return blameTitle }

// maxBlame is how many slow collectives or transfers of a variant are listed.
const maxBlame = 10

// maxAlike is how many instances of one collective are listed.
const maxAlike = 3

// blame lists where the slow collectives, or transfers, of each variant lost their time.
func blame(r *analysis.Result) table {
	t := table{Columns: []column{{Name: "What"}, {Name: "Variant"}, {Name: "Time", Number: true}, {Name: "Unloaded", Number: true}, {Name: "Lost", Number: true},
		{Name: "Where most of it"}, {Name: "How much there", Number: true}, {Name: "Who"}, {Name: "Another path"}}}
	rows, alike := map[string]int{}, map[[2]string]int{}
	queues, cut, transfers := false, false, false
	for i := range r.Blame {
		b := &r.Blame[i]
		if b.Collective != "" && alike[[2]string{b.Variant, b.Collective}] == maxAlike || rows[b.Variant] == maxBlame {
			cut = true
			continue
		}
		rows[b.Variant]++
		alike[[2]string{b.Variant, b.Collective}]++
		queues = queues || b.By == analysis.ByQueues
		transfers = transfers || b.Transfer != ""
		t.Rows = append(t.Rows, []cell{{Text: blamedName(b)}, {Text: b.Variant}, {Text: tenths(b.US(), scalesOfDelays)}, {Text: tenths(b.UnloadedUS, scalesOfDelays)},
			{Text: tenths(b.LostUS, scalesOfDelays)}, {Text: blamedPlace(b)}, {Text: fmt.Sprintf("%s (%s)", tenths(b.WaitUS, scalesOfDelays), percent(b.Share))}, {Text: blamedFlow(b)}, {Text: anotherPath(b)}})
	}
	t.Note = "Of the seed that charts show. Unloaded: what the messages of the critical path take on an idle fabric with all ranks in time; "
	if transfers {
		t.Note = "Of the seed that charts show. Unloaded: on an idle fabric; "
	}
	t.Note += "lost: the rest. Incast: the last hop to a receiver to which several hosts send in the same telemetry windows. " +
		fmt.Sprintf("A port is free if it is used to less than %s in the time of the transfer.", percent(analysis.FreeBelow))
	if queues {
		t.Note += " Places by queues are the ports with the deepest queue on the shortest paths; CSIG samples would name the port itself."
	}
	if cut {
		t.Note += fmt.Sprintf(" The first %d of each variant, and %d of a collective; report --json has up to %d.", maxBlame, maxAlike, analysis.MaxBlame)
	}
	t.bound("collectives and transfers", "report --json")
	return t
}

// blamedName names what was slow.
func blamedName(b *analysis.Blame) string {
	if b.Transfer != "" {
		if b.Open {
			return "flow " + b.Transfer + " (not done)"
		}
		return "flow " + b.Transfer
	}
	return fmt.Sprintf("%s of %s, step %d, group %d", b.Collective, b.Job, b.Step, b.Group)
}

// blamedPlace names the place where it waited, and its kind.
func blamedPlace(b *analysis.Blame) string {
	by := ""
	if b.Fault != "" {
		by = ", under fault " + b.Fault
	}
	if b.By == analysis.ByQueues {
		by += ", by queues"
	}
	switch b.Kind {
	case analysis.BlameIncast:
		return fmt.Sprintf("%s: incast of %d hosts%s%s", b.Port, b.Sources, heldBack(b), by)
	case analysis.BlameEdge:
		return fmt.Sprintf("%s: the last hop%s%s", b.Port, heldBack(b), by)
	case analysis.BlameCore:
		return fmt.Sprintf("%s: within the fabric%s%s", b.Port, heldBack(b), by)
	case analysis.BlameRank:
		return fmt.Sprintf("rank %d (%s), which came late or computed long", b.Rank, b.Node)
	}
	return fmt.Sprintf("the NIC of %s: its own messages", b.Node)
}

// heldBack names the port where packets waited for another one.
func heldBack(b *analysis.Blame) string {
	if b.HeldBack == "" {
		return ""
	}
	return ", which holds back " + b.HeldBack
}

// blamedFlow names who waited there, and for whom.
func blamedFlow(b *analysis.Blame) string {
	text := none
	if b.Flow != "" {
		text = "flow " + b.Flow
		if b.Src != "" && b.Transfer == "" {
			text += fmt.Sprintf(", %s to %s", b.Src, b.Dst)
		}
	}
	if b.Kind == analysis.BlameIncast {
		names := strings.Join(b.SourceNames, ", ")
		if more := b.Sources - len(b.SourceNames); more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		text += "; senders: " + names
	}
	return text
}

// anotherPath says whether the transfer could have taken a free port.
func anotherPath(b *analysis.Blame) string {
	switch {
	case b.Port == "":
		return none
	case b.Short && b.Other > 0:
		return fmt.Sprintf("%d; the time is shorter than a telemetry window, so that their load is not known", b.Other)
	case b.Other == 0:
		return "none"
	case b.Free == 0:
		return fmt.Sprintf("none free: the freest of %d others, %s, was used to %s", b.Other, b.Freest, percent(b.FreestUse))
	}
	return fmt.Sprintf("%d of %d others free, %s used to %s; this one to %s", b.Free, b.Other, b.Freest, percent(b.FreestUse), percent(b.PortUse))
}
