package runs

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/spelling"
)

// UnknownError reports that there is no such run or node.
type UnknownError struct {
	What  string // run or node
	Text  string // that the user gave
	Known []string
}

// mostListed is how many names an error lists at most.
const mostListed = 40

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("%s %q: ", e.What, e.Text)
	if len(e.Known) == 0 {
		return text + "there is none under way; csiglab up EXPERIMENT starts a lab"
	}
	text += "there is no such " + e.What + spelling.Hint(spelling.Nearest(e.Text, e.Known))
	if len(e.Known) > mostListed {
		return text + fmt.Sprintf("; known: %s and %d others", strings.Join(e.Known[:mostListed], " "), len(e.Known)-mostListed)
	}
	return text + "; known: " + strings.Join(e.Known, " ")
}

// AmbiguousError reports a text that matches several runs.
type AmbiguousError struct {
	Text string
	Runs []Run // the latest last
}

func (e *AmbiguousError) Error() string {
	last := e.Runs[len(e.Runs)-1]
	text := fmt.Sprintf("run %q: there are %d of them; write an id in its place, such as %s for the one that was started last:", e.Text, len(e.Runs), last.ID)
	since := StartTimes(e.Runs)
	for i, r := range e.Runs {
		text += fmt.Sprintf("\n  %s  %s, %s, since %s, %s", r.ID, r.Name, r.State, since[i], r.Folder)
	}
	return text
}

// StartTimes returns when runs were started, in whole seconds or, where two runs began in the same
// second, with six digits more for all of them.
func StartTimes(list []Run) []string {
	layout, seconds := time.DateTime, map[int64]bool{}
	for _, r := range list {
		if seconds[r.Started.Unix()] {
			layout = time.DateTime + ".000000"
		}
		seconds[r.Started.Unix()] = true
	}
	times := make([]string, len(list))
	for i, r := range list {
		times[i] = r.Started.Format(layout)
	}
	return times
}

// Find returns the run that a text names: by its id, by a prefix of its id that no
// other id has, or by its experiment's name. Runs whose holder lives are preferred.
// The error is an *UnknownError or an *AmbiguousError.
func Find(runs []Run, text string) (Run, error) {
	var found, alive []Run
	var known []string
	for _, r := range runs {
		if r.ID == text {
			return r, nil
		}
		if known = append(known, r.ID); r.Name != "" {
			known = append(known, r.Name)
		}
		if text != "" && (strings.HasPrefix(r.ID, text) || r.Name == text) {
			found = append(found, r)
			if r.State != Dead {
				alive = append(alive, r)
			}
		}
	}
	switch {
	case len(alive) == 1:
		return alive[0], nil
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0:
		return Run{}, &UnknownError{What: "run", Text: text, Known: known}
	}
	return Run{}, &AmbiguousError{Text: text, Runs: found}
}

// LinkName returns the name of the link that a text stands for, as Graph.FindLinks of package
// topologies finds it, or the text if it stands for none.
func (r *Run) LinkName(text string) string {
	other := text
	for _, l := range r.Links {
		if l.Name == text {
			return text
		}
		if far := l.Nodes[1]; text == far+"-"+strings.TrimSuffix(l.Name, "-"+far) {
			other = l.Name
		}
	}
	for _, n := range r.Nodes {
		for p, i := range n.Interfaces {
			if i.Link != "" && (text == n.Name+":"+i.Name || text == fmt.Sprintf("%s:p%d", n.Name, p)) {
				other = i.Link
			}
		}
	}
	return other
}

// Node returns the node of that name, or the host with that address. The error is
// an *UnknownError if the run has no such node.
func (r *Run) Node(text string) (Node, error) {
	if len(r.Nodes) == 0 {
		return Node{}, fmt.Errorf("run %s has no nodes yet", r.ID)
	}
	var known []string
	addr, err := netip.ParseAddr(text)
	byAddress := err == nil
	for _, n := range r.Nodes {
		if n.Name == text {
			return n, nil
		}
		for _, a := range n.Addresses {
			if byAddress && a == addr.Unmap().String() {
				return n, nil
			}
		}
		if byAddress {
			known = append(known, n.Addresses...)
		} else {
			known = append(known, n.Name)
		}
	}
	return Node{}, &UnknownError{What: "node", Text: text, Known: known}
}
