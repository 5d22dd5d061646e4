package check

import (
	"fmt"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// Cut returns what a run in several parts has carried between them, for the run folder; nil
// for a run that was not cut.
func Cut(out *backend.Outcome) *runfolder.Cut {
	if out.Cut == nil {
		return nil
	}
	c := &runfolder.Cut{Parts: out.Cut.Parts, Exchanges: out.Cut.Exchanges, Bytes: out.Cut.Bytes, Links: []runfolder.CutLink{}}
	for _, l := range out.Cut.Links {
		c.Links = append(c.Links, runfolder.CutLink{Link: l.Link, From: l.From, To: l.To, Entered: l.Entered, Left: l.Left})
		c.Frames += l.Left
	}
	return c
}

// cutLinks compares, for a run in several parts under lockstep, what the nodes have counted on
// the cut links with what kernels and gateways have counted at their stubs. It returns what is
// wrong, "" for nothing. Frames of no node that a gateway has dropped are no fault.
func cutLinks(out *backend.Outcome) string {
	if out.Cut == nil {
		return ""
	}
	ports := portCounts(out)
	for _, l := range out.Cut.Links {
		sent, received := ports[l.Sender].Sent, ports[l.Receiver].Received
		if l.Entered < sent || l.Taken != sent || l.Put != sent || l.Left < sent || received != sent {
			return fmt.Sprintf("link %s, cut between %s and %s: %d frames were sent, %d entered at the stub, %d were taken from it, %d put onto the other stub, %d left there, and %d were received",
				l.Link, l.From, l.To, sent, l.Entered, l.Taken, l.Put, l.Left, received)
		}
	}
	return ""
}

// crossed says how many frames have crossed between the parts of a run, "" for a run that
// was not cut.
func crossed(out *backend.Outcome) string {
	if out.Cut == nil {
		return ""
	}
	var entered, left int64
	for _, l := range out.Cut.Links {
		entered += l.Entered
		left += l.Left
	}
	return fmt.Sprintf("; %d entered and %d left at the stubs of %d directions of links between %d parts, in %d exchanges",
		entered, left, len(out.Cut.Links), len(out.Cut.Parts), out.Cut.Exchanges)
}
