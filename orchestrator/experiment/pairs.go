package experiment

import (
	"strings"
)

// Pair is a key of a file of settings, with its value.
type Pair struct {
	Key, Value string
	Kind       string // what the value is: SingleValue, or in words a mapping, a list, nothing
	Quoted     bool   // the value is in quotes, and so is text whatever it looks like
	Line       int    // from 1
	Column     int
}

// Pairs reads the text of a file of settings: one mapping of YAML, with the rules and limits
// of an experiment. A text of blank lines and comments has no pairs. file is its name in
// messages. The error is an Errors.
func Pairs(file string, data []byte) (pairs []Pair, err error) {
	t, errs := parseTree(data, origin{file: file}, false)
	switch {
	case t == nil && blank(string(data)):
		return nil, nil
	case len(errs) > 0:
		return nil, errs
	case t.kind != mapping:
		return nil, Errors{{File: file, Line: t.at.line, Column: t.at.column, Msg: "want keys and values, such as parallel: 4"}}
	}
	for _, e := range t.keys {
		pairs = append(pairs, Pair{Key: e.name, Value: e.value.text, Kind: e.value.kind.String(), Quoted: e.value.quoted, Line: e.at.line, Column: e.at.column})
	}
	return pairs, nil
}

// blank reports whether a text has comments and blank lines alone.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// IsKey reports whether experiments have a key, or keys below it: hosts, hosts.cc, seeds.
func IsKey(key string) bool {
	top, _, _ := strings.Cut(key, ".")
	for _, k := range schema() {
		if k.path == top || strings.HasPrefix(k.path, top+".") || strings.HasPrefix(k.path, top+"[") {
			return true
		}
	}
	return false
}

// SingleValue is the Kind of a Pair that has a Value.
var SingleValue = scalar.String()
