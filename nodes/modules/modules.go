// Package modules knows which Go modules csiglab build has compiled into this program,
// what each of them has registered, and what is wrong with that. It is filled by init
// functions, while the program starts, and only read afterwards. It holds no algorithm:
// packages congestion, balance, aqm and experiment have the tables.
package modules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Module is a Go module that is compiled in.
type Module struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // empty: a folder
	Sum     string `json:"sum"`               // of the files: h1: and a SHA-256 in base64
}

// String returns the path with the version, or with the beginning of the sum if there is
// no version.
func (m Module) String() string {
	if m.Version != "" {
		return m.Path + " " + m.Version
	}
	return m.Path + " " + m.Sum[:min(len(m.Sum), 15)]
}

// Compiled returns the modules that are compiled in, sorted by path; nil in a csiglab that
// make build has built. The caller must not change it.
func Compiled() []Module { return compiled }

// Entry is what a module has registered.
type Entry struct {
	Kind    string // the section of csiglab list: cc, lb, aqm, routing, signals, topologies, workloads
	Name    string
	Package string // import path of the package that has registered it
}

var (
	entries []Entry
	faults  []error
)

// Registered returns what has been registered, in the order of registration. The caller
// must not change it.
func Registered() []Entry { return entries }

// Check returns what is wrong with the entries that were registered, one line each, and
// nil if nothing is.
func Check() error { return errors.Join(faults...) }

// words has the kinds in words.
var words = map[string]string{"cc": "congestion control", "lb": "load balancer", "aqm": "AQM policy", "routing": "routing policy", "signals": "signal", "topologies": "topology", "workloads": "workload", "jobs": "job"}

// Word returns a kind in words: congestion control for cc.
func Word(kind string) string { return words[kind] }

// Origin returns the path of the compiled module that has a package, or the package if
// none has.
func Origin(pkg string) string {
	if m, ok := Of(pkg); ok {
		return m.Path
	}
	return pkg
}

// Register takes an entry of a package. lacks says in sentences what the entry lacks. The
// entry is added if nothing is wrong: ok is true, and origin is the package's Origin.
// Otherwise Check returns the sentences.
func Register(pkg, kind, name string, lacks []string) (origin string, ok bool) {
	origin = Origin(pkg)
	for _, e := range entries {
		if e.Kind == kind && e.Name == name {
			lacks = append(slices.Clip(lacks), fmt.Sprintf("%s has registered another one of this name: give one of the two another name", e.Package))
		}
	}
	if len(lacks) == 0 {
		entries = append(entries, Entry{kind, name, pkg})
		return origin, true
	}
	for _, lack := range lacks {
		faults = append(faults, fmt.Errorf("module %s: %s %q: %s", origin, words[kind], name, lack))
	}
	return origin, false
}

// Of returns the compiled module that has a package, given by its import path.
func Of(pkg string) (found Module, ok bool) {
	for _, m := range compiled {
		if (pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/")) && len(m.Path) > len(found.Path) {
			found, ok = m, true
		}
	}
	return found, ok
}

// Of a module, Entries returns what it has registered.
func (m Module) Entries() (list []Entry) {
	for _, e := range entries {
		if of, ok := Of(e.Package); ok && of.Path == m.Path {
			list = append(list, e)
		}
	}
	return list
}
