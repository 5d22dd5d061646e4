package regress

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// TestModulesApart: this csiglab with modules is not compared with one without them.
func TestModulesApart(t *testing.T) {
	compiled := []modules.Module{{Path: "example.com/relay"}}
	for _, c := range []struct {
		baseline, candidate string
		with                []string
		compiled            []modules.Module
		wrong               string // flag
	}{
		{"git:main", "self", nil, compiled, "--baseline git:main would be built without the module example.com/relay"},
		{"self", "folder:/a", nil, compiled, "--candidate folder:/a would"},
		{"git:main", "file:a.yaml", nil, compiled, "--baseline"},
		{"git:main", "self", nil, nil, ""},
		{"git:main", "self", []string{"example.com/relay=/a"}, compiled, ""},
		{"git:main", "folder:/a", nil, compiled, ""}, // neither has it
		{"stored:/a", "self", nil, compiled, ""},
		{"program:/a", "self", nil, compiled, ""},
	} {
		p := &Plan{Baseline: Spec{Side: c.baseline, With: c.with}, Candidate: Spec{Side: c.candidate, With: c.with}}
		err := ModulesApart(p, c.compiled)
		if (err == nil) != (c.wrong == "") || err != nil && (!errors.Is(err, failure.ErrConfiguration) || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestModulesAreReproduced: what is built into both sides is in the command of a verdict, once.
func TestModulesAreReproduced(t *testing.T) {
	for side, want := range map[string]string{"baseline": "--baseline git:main", "candidate": "--candidate git:main --with example.org/cc=/x"} {
		flags := SideFlags{Name: side, Text: "git:main"}
		if got := strings.Join(flags.arguments(&Spec{Side: "git:main", With: []string{"example.org/cc=/x"}}), " "); got != want {
			t.Errorf("%s: %s, want %s", side, got, want)
		}
	}
}
