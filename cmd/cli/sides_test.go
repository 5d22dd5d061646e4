package cli

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/nodes/modules"
	"github.com/csiglab/csiglab/orchestrator/compare/regress"
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
		p := &regress.Plan{Baseline: regress.Spec{Side: c.baseline, With: c.with}, Candidate: regress.Spec{Side: c.candidate, With: c.with}}
		err := modulesApart(p, c.compiled)
		if (err == nil) != (c.wrong == "") || err != nil && (command.ExitCode(err) != command.ExitUsage || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
