package cli

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// TestRegressHints holds that an experiment where a suite or a side is wanted is told how it is
// compared.
func TestRegressHints(t *testing.T) {
	file := write(t, "mine.yaml", "schema: 1\nname: mine\ntopology: {k_ary: {k: 4, rate: 100Gbps, delay: 1us}}\n")
	for _, c := range []struct{ args, want string }{
		{"incast --baseline self", "incast is an experiment and not a suite: csiglab regress --experiment incast --metric METRIC --delta 5% compares it"},
		{file + " --baseline self", file + " is an experiment and not a suite: "},
		{"standard --baseline " + file, file + ": a file as it is stands for nothing; an experiment file is file:" + file},
		{"standrd --baseline self", `(did you mean "standard"?)`},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"regress"}, strings.Fields(c.args)...)...)
		if code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("regress %s: exit %d, %q; want %d, %q", c.args, code, stderr, command.ExitUsage, c.want)
		}
	}
}
