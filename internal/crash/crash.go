// Package crash keeps what a program writes to its standard error, and says in a line why
// the program ended. A Go program that crashes names the cause first, and writes up to
// megabytes about its goroutines after that.
package crash

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/csiglab/csiglab/internal/plain"
)

const (
	// MaxText is how many bytes of a program's standard error are looked at.
	MaxText = 16 << 10
	// maxLines is how many lines Words returns.
	maxLines = 6
	maxLine  = 500 // runes of a line
)

// causes are the beginnings of the lines with which Go's runtime names the cause of a
// crash.
var causes = []string{"panic: ", "fatal error: ", "runtime: ", "unexpected fault address", "SIG"}

// Words returns the first lines of a text, joined by "; ", or "" if there is none. If the
// text has the report of a crash of a Go program, they are the first of the report. They have
// nothing that a terminal would interpret.
func Words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "created by ") {
			continue
		}
		lines = append(lines, plain.Text(line, maxLine))
	}
	isCause := func(line string) bool {
		return slices.ContainsFunc(causes, func(c string) bool { return strings.HasPrefix(line, c) })
	}
	lines = lines[max(0, slices.IndexFunc(lines, isCause)):]
	more := ""
	if n := len(lines) - maxLines; n > 0 {
		lines, more = lines[:maxLines], fmt.Sprintf("; and %d more lines", n)
	}
	return strings.Join(lines, "; ") + more
}

// Stderr keeps the first bytes that are written to it. The zero value is empty and ready
// to use, by several goroutines.
type Stderr struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what fits. It never fails.
func (s *Stderr) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, b[:min(len(b), MaxText-len(s.text))]...)
	return len(b), nil
}

// Words returns Words of what has been written, or says that nothing was.
func (s *Stderr) Words() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if words := Words(string(s.text)); words != "" {
		return words
	}
	return "it said nothing"
}
