package experiment

import (
	"fmt"
	"slices"

	"github.com/csiglab/csiglab/nodes/csig"
)

// CSIGSecond is what the tags of a fabric's second format have of their own.
type CSIGSecond struct {
	Quantisers map[string]string `yaml:"quantisers" doc:"of these tags, as 'csig.quantisers'"`
	Locators   Locators          `yaml:"locators" doc:"of the tags of the other format, as 'csig.locators'"`
}

// allFormats is the value of CSIGPort.Format that stands for every format.
const allFormats = "all"

// SecondFormat returns the format of the tags that CSIG.Second is for; none without.
func (c *CSIG) SecondFormat() csig.Format {
	if c.Second == nil {
		return csig.FormatNone
	}
	return c.Format.Other()
}

// wantsSecond reports whether hosts or ports put tags of the other format on.
func (c *CSIG) wantsSecond() bool {
	if c.Format == csig.FormatNone {
		return false
	}
	other := c.Format.Other().String()
	return slices.ContainsFunc(c.Policies, func(p CSIGPolicy) bool { return p.Format == other }) ||
		slices.ContainsFunc(c.Ports, func(p CSIGPort) bool { return p.Init != "" && p.Format == other })
}

// secondFormat refuses what is for tags of a format that the fabric does not have.
func (d *decoder) secondFormat(c CSIG) {
	if c.Format == csig.FormatNone || c.Second != nil || !d.sound("csig.format") {
		return
	}
	for i := range c.Ports {
		if f := c.Ports[i].Format; f != allFormats && f != c.Format.String() {
			d.failAt(fmt.Sprintf("csig.ports[%d].format", i), fmt.Sprintf("no tag of the fabric is %s; hosts have csig.format: %s. csig.second: {} says that there are others, and so does a policy with its format", f, c.Format), "")
		}
	}
}

// For reports whether the rule is for tags of a format.
func (p *CSIGPort) For(f csig.Format) bool {
	return p.Format == "" || p.Format == allFormats || p.Format == f.String()
}
