package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/shlex"

	"github.com/csiglab/csiglab/cmd/cli/command"
)

// The commands of csiglab in the examples of docs/tutorial/ci-gate.md and docs/how-to/ci.md have a subcommand, flags and
// arguments that there are. What they do is shown by the documents' tests.
func TestCIDocCommands(t *testing.T) {
	var text []byte
	for _, page := range []string{"tutorial/ci-gate.md", "how-to/ci.md"} {
		content, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, content...)
	}
	expression := regexp.MustCompile(`\$\{\{.*?\}\}|\$\([^)]*\)|\$[A-Z_]+`)
	seen := map[string]int{}
	for _, line := range regexp.MustCompile(`(?m)bin/csiglab [^\n]*`).FindAllString(string(text), -1) {
		line, _, _ = strings.Cut(line, " ||")
		words, err := shlex.Split(expression.ReplaceAllString(line, "1"))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		root := root((&command.App{}))
		cmd, args, err := root.Find(words[1:])
		if err != nil || cmd == root {
			t.Errorf("%s: %v: no such command", line, err)
			continue
		}
		if err := cmd.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		seen[cmd.Name()]++
	}
	if seen["regress"] < 3 || seen["sweep"] < 4 {
		t.Errorf("commands: %v", seen)
	}
}
