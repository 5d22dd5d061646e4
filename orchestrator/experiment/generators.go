package experiment

import (
	"fmt"
	"math"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/host/generator"
	"github.com/csiglab/csiglab/units"
)

// Tags returns the bytes of the stack that stands in front of the network layer.
func (g Generator) Tags(c CSIG) ([]byte, error) {
	domain := csig.Config{Format: c.Format, TPIDCompact: c.TPIDCompact, TPIDWide: c.TPIDWide, Dialect: c.Dialect}
	return generator.ParseStack(g.Stack, domain)
}

// generators checks the generators against the rest.
func (d *decoder) generators(e *Experiment, hosts int) {
	for i, g := range e.Generators {
		path := fmt.Sprintf("generators[%d]", i)
		if !d.sound(path) {
			continue
		}
		for _, h := range []struct {
			key  string
			host int
		}{{"host", g.Host}, {"to", g.To}} {
			if hosts > 0 && h.host >= hosts {
				d.failAt(join(path, h.key), fmt.Sprintf("no host %d; hosts go from 0 to %d", h.host, hosts-1), "")
			}
		}
		if g.Host == g.To {
			d.failAt(join(path, "to"), fmt.Sprintf("host %d cannot send to itself", g.To), "")
		}
		if a := e.Applications; a != nil && d.sound("applications") && slices.Contains(a.Hosts, g.Host) {
			d.failAt(join(path, "host"), fmt.Sprintf("host %d is one of applications.hosts", g.Host), "")
		}
		if (g.Every == 0) == (g.Rate == 0) {
			d.failAt(path, "want one of the keys every and rate", "")
		}
		switch {
		case !d.sound("end"):
		case g.Count == 0 && e.End == 0:
			d.failAt(join(path, "count"), "frames without end need an end of the run; set count, or end", "")
		case e.End != 0 && g.Start >= e.End:
			d.failAt(join(path, "start"), fmt.Sprintf("starts at %v, not before the run's end %v", g.Start, e.End), "")
		}
		if !d.sound("csig", "links") {
			continue
		}
		stack, err := g.Tags(e.CSIG)
		if err != nil {
			d.failAt(join(path, "stack"), err.Error(), "")
		}
		if least := max(generator.MinSize, e.Links.Header); g.Size < least {
			d.failAt(join(path, "size"), fmt.Sprintf("%v is too small; the least is %v", g.Size, least), "")
		}
		if whole := g.Size + units.Size(len(stack)); whole > e.Links.MTU {
			d.failAt(join(path, "size"), fmt.Sprintf("a frame of %v with its tags is longer than links.mtu %v", whole, e.Links.MTU), "")
		}
	}
}

// Bounds of the keys of generators.
const (
	maxFrames = math.MaxInt32
	maxDSCP   = 63 // 6 bits (RFC 2474 §3)
	maxPaths  = 4096
)
