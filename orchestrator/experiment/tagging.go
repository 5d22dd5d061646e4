package experiment

import (
	"fmt"

	"github.com/csiglab/csiglab/internal/lazy"
	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// probePattern is the form of csig.init that is not one of csig.ParseSampling.
var probePattern = lazy.Regexp(`^probe/([1-9][0-9]{0,8}(?:ns|us|ms))$`)

const initWords = csig.SamplingWords + ", or probe/TIME (probes of each flow)"

// Tagging returns what Init says: which data packets hosts tag, or after which time
// each sending flow sends a tagged probe (0: no probes). "" is every packet.
func (c *CSIG) Tagging() (s csig.Sampling, probe units.Duration, err error) {
	if c.Init == "" {
		return csig.All, 0, nil
	}
	return ParseInit(c.Init)
}

// ParseInit reads the text of csig.init or csig.policies[].init; see CSIG.Tagging.
func ParseInit(text string) (s csig.Sampling, probe units.Duration, err error) {
	if m := probePattern().FindStringSubmatch(text); m != nil {
		probe, err = units.ParseDuration(m[1])
		return s, probe, err
	}
	if s, err = csig.ParseSampling(text); err != nil {
		err = fmt.Errorf("%q is not %s", text, initWords)
	}
	return s, 0, err
}

// String returns what the rule selects, in words.
func (p *CSIGPort) String() string {
	text := "switch " + p.Switch
	if p.Tier != "" {
		text += ", tier " + p.Tier
	}
	if p.Port >= 0 {
		text += fmt.Sprintf(", port %d", p.Port)
	}
	if p.To != "" {
		text += ", to " + p.To
	}
	return text
}
