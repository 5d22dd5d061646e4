package experiment

import (
	"errors"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/units"
)

// FrameOverhead is what a frame of a program takes on the wire beyond its IP packet:
// the Ethernet header and the FCS.
const FrameOverhead = 18 * units.Byte

// tagRoom is the longest CSIG tag, which counts with links.count_tag.
const tagRoom = 8 * units.Byte

// applications checks the programs against the rest.
func (d *decoder) applications(e *Experiment, hosts int) {
	a := e.Applications
	if a == nil || !d.sound("applications") {
		return
	}
	_, probe, _ := e.CSIG.Tagging() // the pattern of csig.init has been checked
	switch {
	case !d.sound("runtime", "clock", "csig"):
	case !e.Way().Has(runtimes.RealTime):
		d.failAt("applications", fmt.Sprintf("programs need clock %s; %s has no time that they could live in", runtimes.Wall, e.Clock), "")
	case probe > 0 && len(e.CSIG.Policies) == 0: // which may be for all programs
		d.failAt("csig.init", "probes are the transport's; with applications want "+csig.SamplingWords, "every")
	}
	if len(a.Hosts) == 0 {
		d.failAt("applications.hosts", "the list is empty", "")
	}
	seen := map[int]bool{}
	for i, h := range a.Hosts {
		path := fmt.Sprintf("applications.hosts[%d]", i)
		if hosts > 0 && h >= hosts {
			d.failAt(path, fmt.Sprintf("no host %d; hosts go from 0 to %d", h, hosts-1), "")
		}
		if seen[h] {
			d.failAt(path, fmt.Sprintf("host %d is given twice", h), "")
		}
		seen[h] = true
	}
	room := e.Links.MTU - FrameOverhead
	why := "a frame takes 18B more"
	if e.Links.CountTag && e.CSIG.Format != csig.FormatNone {
		room, why = room-tagRoom, "a frame with its tag takes 26B more"
	}
	if a.MTU > room && d.sound("links", "csig") {
		d.failAt("applications.mtu", fmt.Sprintf("%v is too large; links.mtu %v leaves %v, as %s", a.MTU, e.Links.MTU, max(room, 0), why), "")
	}
	if a.Queue != 0 && a.Queue < a.MTU+FrameOverhead {
		d.failAt("applications.queue", fmt.Sprintf("%v does not hold one frame of %v", a.Queue, a.MTU+FrameOverhead), "")
	}
	for i, p := range a.Programs {
		path := fmt.Sprintf("applications.programs[%d]", i)
		if !seen[p.Host] {
			d.failAt(path+".host", fmt.Sprintf("host %d is not one of applications.hosts", p.Host), "")
		}
		if _, err := p.Args(); err != nil {
			d.failAt(path+".run", err.Error(), "")
		}
		if e.End != 0 && p.Start >= e.End && d.sound("end") {
			d.failAt(path+".start", fmt.Sprintf("starts at %v, not before the run's end %v", p.Start, e.End), "")
		}
	}
}

var errUnclosed = errors.New("a quote is not closed")

// Args returns the program and its arguments; see SplitCommand.
func (p Program) Args() ([]string, error) { return SplitCommand(p.Run) }

// SplitCommand splits a command line at spaces. Single and double quotes keep what is
// between them together, and a backslash outside of single quotes the character
// after it. Nothing else is expanded: a program that needs a shell names it, as
// in sh -c "…".
func SplitCommand(line string) ([]string, error) {
	var args []string
	var word strings.Builder
	inWord := false
	var quote rune
	escaped := false
	for _, c := range line {
		switch {
		case escaped:
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, inWord = c, true
		case quote == 0 && strings.ContainsRune(" \t\n", c):
			if inWord {
				args = append(args, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	switch {
	case quote != 0:
		return nil, errUnclosed
	case escaped:
		return nil, errors.New("a backslash is the last character")
	case inWord:
		args = append(args, word.String())
	}
	if len(args) == 0 || args[0] == "" {
		return nil, errors.New("names no program")
	}
	return args, nil
}
