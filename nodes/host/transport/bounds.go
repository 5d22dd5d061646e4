package transport

import (
	"fmt"

	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/units"
)

// Bounds are what a controller may ask for: the run ends when it asks for more. They are
// checked once for each ACK, and when the flow is closed. The zero value has no bounds.
type Bounds struct {
	least   units.Size
	count   uint64         // of windows within the bounds
	actions uint16         // number of actions
	fault   *modules.Fault // what blame begins with
}

// NewBounds returns the bounds of an algorithm whose windows lie in w.
func NewBounds(a *congestion.Algorithm, w congestion.Windows) Bounds {
	actions := uint16(len(a.Actions))
	if actions == 0 {
		actions = 1 << 8 // they mean nothing
	}
	return Bounds{w.Min, uint64(w.Max-w.Min) + 1, actions, &modules.Fault{Module: a.Module, Kind: "cc", Name: a.Name}}
}

// check ends the run if a controller asks for what is out of bounds.
func (b *Bounds) check(out *congestion.Output) {
	// A negative number is a large one here; without bounds, all are within.
	if uint64(out.Window-b.least) > b.count-1 || uint16(out.Action) > b.actions-1 {
		b.blame(out)
	}
}

func (b *Bounds) blame(out *congestion.Output) {
	f := *b.fault
	switch most := b.least + units.Size(b.count-1); {
	case uint16(out.Action) > b.actions-1:
		f.What = fmt.Sprintf("answers with the action %d; its Actions have the indices 0 to %d", out.Action, b.actions-1)
	case out.Window < 0:
		f.What = fmt.Sprintf("asks for a window of %v, less than nothing", out.Window)
	default:
		f.What = fmt.Sprintf("asks for a window of %v; its Windows say from %v to %v", out.Window, b.least, most)
	}
	f.Panic()
}
