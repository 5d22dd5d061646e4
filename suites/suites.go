// Package suites has the suites of regression tests that csiglab brings along, as text.
// Package orchestrator/compare/regress reads them.
package suites

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of the suites, in alphabetical order.
func Names() []string {
	list, err := fs.Glob(files, "*.yaml")
	if err != nil {
		panic("suites: " + err.Error())
	}
	for i, file := range list {
		list[i] = strings.TrimSuffix(file, ".yaml")
	}
	return list
}

// Text returns the text of a suite, and whether there is one of that name.
func Text(name string) (data []byte, ok bool) {
	data, err := files.ReadFile(name + ".yaml")
	return data, err == nil
}
