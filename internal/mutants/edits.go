package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed edits.yaml
var list []byte

// Edit is a small change that makes the program wrong, or, with Same, one that does not.
type Edit struct {
	Name     string   `yaml:"name"`
	File     string   `yaml:"file"` // below the checkout
	What     string   `yaml:"what"` // the program does then
	Old      string   `yaml:"old"`  // occurs once in File
	New      string   `yaml:"new"`
	Entries  []string `yaml:"entries"`  // of the suite, asked first
	Survives string   `yaml:"survives"` // why nothing notices it; empty for what is noticed
	Same     bool     `yaml:"same"`     // a refactoring: nobody may notice it
}

// edits returns the list.
func edits() ([]Edit, error) {
	var all []Edit
	if err := yaml.NewDecoder(bytes.NewReader(list), yaml.Strict()).Decode(&all); err != nil {
		return nil, fmt.Errorf("edits.yaml: %w", err)
	}
	seen := map[string]bool{}
	for _, e := range all {
		switch {
		case e.Name == "" || e.File == "" || e.What == "" || e.Old == "" || len(e.Entries) == 0:
			return nil, fmt.Errorf("edits.yaml: edit %q lacks a name, file, what, old or entries", e.Name)
		case seen[e.Name]:
			return nil, fmt.Errorf("edits.yaml: two edits have the name %s", e.Name)
		}
		seen[e.Name] = true
	}
	return all, nil
}

// digest identifies what the edit does.
func (e *Edit) digest() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(e.File+"\x00"+e.Old+"\x00"+e.New)))[:16]
}

// folder returns the package that the edit changes, such as nodes/csig.
func (e *Edit) folder() string { return filepath.ToSlash(filepath.Dir(e.File)) }

// errOld: the text of an edit is not in its file, or more than once.
var errOld = errors.New("the text to be replaced does not occur exactly once")

// changed returns the file of the checkout with the edit in it.
func (e *Edit) changed(checkout string) (before, after []byte, err error) {
	before, err = os.ReadFile(filepath.Join(checkout, e.File))
	if err != nil {
		return nil, nil, fmt.Errorf("edit %s: %w", e.Name, err)
	}
	if n := strings.Count(string(before), e.Old); n != 1 {
		return nil, nil, fmt.Errorf("edit %s: %s: %w, but %d times", e.Name, e.File, errOld, n)
	}
	after = []byte(strings.Replace(string(before), e.Old, e.New, 1))
	if bytes.Equal(before, after) {
		return nil, nil, fmt.Errorf("edit %s changes nothing", e.Name)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), e.File, after, 0); err != nil {
		return nil, nil, fmt.Errorf("edit %s: %w", e.Name, err)
	}
	return before, after, nil
}
