package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is a fenced block of shell commands in a document.
type block struct {
	commands []command
	exit     int    // <!-- exit 2 -->: what each of its commands exits with
	notRun   string // <!-- not run: REASON -->
	onlyIf   string // <!-- if: COMMAND -->: run the block if this succeeds
}

// command is one command of a block: a line with those that continue it.
type command struct {
	line int
	text string
}

var (
	fence   = regexp.MustCompile("^(```+|~~~+) *([A-Za-z0-9]*)")
	comment = regexp.MustCompile(`^<!-- *(exit|not run:|if:) *(.*?) *-->$`)
)

// blocks returns the shell blocks of a Markdown text. Comments that annotate a
// block stand above its fence, with at most blank lines between.
func blocks(text string) ([]block, error) {
	var list []block
	var next block // what the comments so far say about the block to come
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if m := comment.FindStringSubmatch(line); m != nil {
			if err := next.annotate(m[1], m[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			continue
		}
		m := fence.FindStringSubmatch(line)
		if m == nil {
			if line != "" && !next.plain() {
				return nil, fmt.Errorf("line %d: the comment above annotates no block", i+1)
			}
			continue
		}
		opened := i
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != m[1]; i++ {
		}
		if i == len(lines) {
			return nil, fmt.Errorf("line %d: the block has no end", opened+1)
		}
		switch language := m[2]; {
		case language == "sh":
			next.commands = commands(lines[opened+1:i], opened+2)
			list = append(list, next)
		case slices.Contains([]string{"bash", "shell", "console", "zsh"}, language):
			return nil, fmt.Errorf("line %d: write sh for %s, or the commands are not tested", opened+1, language)
		case !next.plain():
			return nil, fmt.Errorf("line %d: the comment above annotates a block that is not sh", opened+1)
		}
		next = block{}
	}
	return list, nil
}

// plain reports whether nothing has annotated the block.
func (b *block) plain() bool { return b.exit == 0 && b.notRun == "" && b.onlyIf == "" }

func (b *block) annotate(key, value string) error {
	if value == "" {
		return fmt.Errorf("%q says nothing", key)
	}
	switch key {
	case "exit":
		code, err := strconv.Atoi(value)
		if err != nil || code < 1 || code > 255 {
			return fmt.Errorf("exit %q is not a number from 1 to 255", value)
		}
		b.exit = code
	case "not run:":
		b.notRun = value
	case "if:":
		b.onlyIf = value
	}
	return nil
}

// commands splits the lines of a block, the first of which has the given
// number, and leaves out blank ones and comments.
func commands(lines []string, number int) []command {
	var list []command
	for i := 0; i < len(lines); i++ {
		c := command{number + i, strings.TrimSpace(lines[i])}
		for strings.HasSuffix(c.text, `\`) && i+1 < len(lines) {
			i++
			c.text = strings.TrimSuffix(c.text, `\`) + strings.TrimSpace(lines[i])
		}
		if c.text != "" && !strings.HasPrefix(c.text, "#") {
			list = append(list, c)
		}
	}
	return list
}
