package regress

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// Single is what a campaign of another kind needs to run one variant of one experiment.
type Single struct {
	// Trial has the experiment, its content, the variant and the overrides of the suite.
	Trial         trial.Trial
	Deterministic bool // equal trials give equal traces
}

// Single returns the only variant of a prepared campaign with one experiment. Its error is
// of class failure.ErrConfiguration.
func (c *Campaign) Single() (Single, error) {
	if len(c.cells) != 1 {
		var names []string
		for _, one := range c.cells {
			names = append(names, one.variant)
		}
		return Single{}, wrong("the experiment has several variants: want one of them, --variant %s", strings.Join(names, " or --variant "))
	}
	one := c.cells[0]
	if one.file[0] == "" {
		return Single{}, fmt.Errorf("regress: the experiment %s has no text", one.name())
	}
	variant := one.variant
	if !one.several {
		variant = "" // early revisions of csiglab run have no flag for it
	}
	return Single{
		Trial:         trial.Trial{Experiment: one.file[0], Content: one.content[0], Variant: variant, Set: arguments(one.entry, &Side{}), Flags: c.Flags},
		Deterministic: one.deterministic(),
	}, nil
}

// WriteTexts writes the texts of embedded experiments into the campaign's folder, where the
// file of Single is. Its error is of class failure.ErrInfrastructure.
func (c *Campaign) WriteTexts() error { return c.writeTexts() }
