package regress

import (
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/internal/spelling"
	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
	"github.com/csiglab/csiglab/orchestrator/programs/builder"
)

// Kinds of sides.
const (
	KindSelf    = "self"    // this csiglab
	KindGit     = "git"     // a revision of csiglab, or of an algorithm module
	KindFolder  = "folder"  // source code of the same
	KindProgram = "program" // a csiglab
	KindFile    = "file"    // this csiglab, with an experiment of its own
	KindStored  = "stored"  // values of a baseline file
)

var kinds = []string{KindSelf, KindGit, KindFolder, KindProgram, KindFile, KindStored}

// Side is the baseline or the candidate.
type Side struct {
	verdict.Side
	Program  string // csiglab to run; empty: this one
	Identity string // of the program's content
	// Experiment takes the place of the experiment of a suite that has one; empty: none.
	Experiment string
	Stored     *Stored // values in place of a program
	Dir        string  // that names of files in Set are relative to; empty: the working directory
	// Notes are what the caller knows of the program and a reader of the verdict should know.
	Notes []string
	// functions are those of the source that the program was built from; nil: not known.
	functions []builder.Function
}

// asItIs reports whether the side's program was not built for the campaign, so that it may
// be of another source than the user believes.
func (s *Side) asItIs() bool {
	return s.Kind == KindProgram || (s.Kind == KindSelf || s.Kind == KindFile) && s.Program == ""
}

// unbuilt returns a note if the sides were to be two programs, of which one was built for
// the campaign, and no run differs: perhaps the other was not built from the change.
func (c *Campaign) unbuilt() (notes []string) {
	sides := c.sides()
	for _, one := range c.cells {
		if !one.result.Identical {
			return nil
		}
	}
	for i, s := range sides {
		if other := sides[1-i]; s.asItIs() && (other.Kind == KindGit || other.Kind == KindFolder) {
			notes = append(notes, fmt.Sprintf("no run differs: either the change has no effect here, or %s was not built from it; folder:DIR as the %s builds what DIR has now", s.Label, sideNames[i]))
		}
	}
	return notes
}

// knows reports whether this csiglab knows all that the side's program knows.
func (s *Side) knows() bool {
	return s.Kind == KindSelf || s.Kind == KindFile || s.Kind == KindStored
}

// ParseSide splits the text of a side, such as git:main, into its kind and the rest.
// Without a kind in front, the name of an existing file that ends in .json is stored, and
// anything else a git revision; exists reports whether there is such a file.
func ParseSide(text string, exists func(name string) bool) (kind, value string, err error) {
	if text == KindSelf {
		return KindSelf, "", nil
	}
	prefix, rest, ok := strings.Cut(text, ":")
	for _, k := range kinds {
		if ok && prefix == k && k != KindSelf {
			if rest == "" {
				return "", "", fmt.Errorf("%q: the name after %s: is missing", text, k)
			}
			return k, rest, nil
		}
	}
	switch near := spelling.Nearest(prefix, kinds); {
	case strings.TrimSpace(text) == "":
		return "", "", fmt.Errorf("it is empty; want %s", sideForms)
	case ok && near != "": // a revision of git has no colon
		return "", "", fmt.Errorf("%q: unknown kind of side%s; want %s", text, spelling.Hint(near), sideForms)
	case ok:
		return "", "", fmt.Errorf("%q: unknown kind of side; want %s", text, sideForms)
	case strings.HasSuffix(text, ".json") && exists(text):
		return KindStored, text, nil
	case (strings.HasSuffix(text, ".yaml") || strings.HasSuffix(text, ".yml")) && exists(text):
		return "", "", fmt.Errorf("%s: a file as it is stands for nothing; an experiment file is file:%[1]s, in a comparison of one", text)
	case strings.HasSuffix(text, ".json"):
		return "", "", fmt.Errorf("%s: no such file; csiglab baseline save SUITE -o %[1]s writes one", text)
	}
	return KindGit, text, nil
}

// sideForms lists the forms of a side in messages.
const sideForms = "self, git:REV, folder:DIR, program:FILE, file:EXPERIMENT or stored:FILE"
