package csig

import (
	"errors"
	"fmt"
)

// SecondFormat configures the tags of a fabric that have the format which Config.Format is
// not. The formats are told apart by their TPIDs. They share the rest of the configuration.
type SecondFormat struct {
	Quantisers [Types]Quantiser // by type, for that format
	Locators   LocatorConfig
}

// SecondLabels is what Label adds to the locators of the second format.
const SecondLabels = 1 << 16

// Other returns the format that f is not; none for none.
func (f Format) Other() Format {
	switch f {
	case FormatCompact:
		return FormatWide
	case FormatWide:
		return FormatCompact
	}
	return FormatNone
}

// Second returns the domain of the second format, nil without. It has no second format of
// its own.
func (d *Domain) Second() *Domain { return d.second }

// Of returns the domain of the format that a tag has by its length: d, unless it is the
// second one.
func (d *Domain) Of(tag []byte) *Domain {
	if d.second != nil && len(tag) == d.second.size {
		return d.second
	}
	return d
}

// In returns the domain of a format: d for FormatNone and for its own, nil for one that the
// fabric does not have.
func (d *Domain) In(f Format) *Domain {
	switch {
	case f == FormatNone || f == d.config.Format:
		return d
	case d.second != nil:
		return d.second
	}
	return nil
}

// Label returns a sample's locator for records and tables, in which the locators of the
// second format have SecondLabels added: a port has a locator in each format, and one number
// may stand for different ports.
func (d *Domain) Label(s *Sample) uint32 {
	if s.Format != d.config.Format {
		return SecondLabels | uint32(s.Locator)
	}
	return uint32(s.Locator)
}

// newSecond returns the domain of the format that c.Format is not.
func newSecond(c Config) (*Domain, error) {
	if c.Format == FormatNone {
		return nil, errors.New("csig: a second format without a first")
	}
	second := c.Second
	c.Format, c.Quantisers, c.Locators, c.Second = c.Format.Other(), second.Quantisers, second.Locators, nil
	d, err := NewDomain(c)
	if err != nil {
		return nil, fmt.Errorf("second format: %w", err)
	}
	return d, nil
}
