package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/nodes/switch/dataplane"
)

// newSignalling returns nil without CSIG. In a fabric with tags of two formats it has those
// of both.
func newSignalling(r *run, p *Plan) *signalling {
	if p.CSIG == nil {
		return nil
	}
	domain := p.Domain()
	c := newSignallingOf(r, p, domain, false)
	if domain.Second() == nil {
		return c
	}
	first, second := *c, newSignallingOf(r, p, domain.Second(), true)
	first.flows = slices.Clone(c.flows)
	for i := range c.flows {
		c.flows[i].host |= second.flows[i].host
		c.flows[i].fabric |= second.flows[i].fabric
	}
	for t := range csig.Types {
		c.transfers[t] = c.transfers[t] || second.transfers[t]
		c.programs[t] = c.programs[t] || second.programs[t]
	}
	c.formats = [2]*signalling{&first, second}
	return c
}

// has reports whether tags of a format, none for the fabric's first, are those that the
// rules see.
func (c *signalling) has(f csig.Format) bool { return (f != csig.FormatNone) == c.second }

// policies returns what a port does to the tags.
func (c *signalling) policies(p *dataplane.Port) *[csig.Types]dataplane.Policy {
	if c.second {
		return &p.Second.Policies
	}
	return &p.Policies
}

// locators returns the table of the locators in the tags.
func (c *signalling) locators() *LocatorTable {
	if c.second {
		return c.plan.Second
	}
	return c.plan.Locators
}

// eachFormat returns the rule that applies another one to the tags of each format by itself.
// Where there are two, its remarks name the format behind the key.
func eachFormat(rule noteRule) noteRule {
	return func(c *signalling) (notes []string) {
		if c.formats[0] == nil {
			return rule(c)
		}
		for _, of := range c.formats {
			for _, text := range rule(of) {
				key, rest, _ := strings.Cut(text, ": ")
				if of.second {
					key, rest = secondKey.Replace(key), strings.ReplaceAll(rest, "csig.format: wide", "wide tags")
				}
				notes = append(notes, fmt.Sprintf("%s: %v tags: %s", key, of.domain.Format(), rest))
			}
		}
		return notes
	}
}

// secondKey has the keys of the second format.
var secondKey = strings.NewReplacer("csig.quantisers", "csig.second.quantisers", "csig.locators", "csig.second.locators")

// label returns the locator of a port, as csig.Domain.Label has it.
func (c *signalling) label(p *dataplane.Port) uint32 {
	if c.second {
		return csig.SecondLabels | uint32(p.Second.Locator)
	}
	return uint32(p.Locator)
}
