package fluid

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/units"
)

// Choice is which messages of a flow are packets, where a network carries the others: those that
// are posted in Span and belong to one of Steps and of Phases.
type Choice struct {
	Span   metrics.Span
	Steps  []int32 // as metrics.Tag.Step; nil: all
	Phases []int16 // as metrics.Tag.Phase; nil: all
}

// Packets reports whether a message that is posted now is packets.
func (c *Choice) Packets(now units.Time, tag metrics.Tag) bool {
	return c.Span.Contains(now) && (c.Steps == nil || slices.Contains(c.Steps, tag.Step)) && (c.Phases == nil || slices.Contains(c.Phases, tag.Phase))
}
