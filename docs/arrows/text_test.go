package arrows

import (
	"go/ast"
	"regexp"
	"strings"
)

// longestFile is the number of lines above which a file is split.
const longestFile = 600

// todo finds the word in a comment; ownedTODO finds one with an owner and a reason.
var (
	todo      = regexp.MustCompile(`\bTODO\b`)
	ownedTODO = regexp.MustCompile(`\bTODO\([a-z][a-z0-9-]*\): \S`)
)

// checkText finds files that are too long, packages without a package comment
// and reminders that nobody owns.
func checkText(m *module, ps *problems) {
	for _, p := range m.sorted() {
		for _, f := range p.all() {
			if lines := m.fset.File(f.FileStart).LineCount(); lines > longestFile {
				ps.add(f.FileStart, "%d lines: split a file of more than %d", lines, longestFile)
			}
			for _, group := range f.Comments {
				for _, line := range group.List {
					if len(todo.FindAllString(line.Text, -1)) != len(ownedTODO.FindAllString(line.Text, -1)) {
						ps.add(line.Pos(), "write TODO(name): why it matters")
					}
				}
			}
		}
		if !hasPackageComment(p) {
			ps.add(p.all()[0].Package, "%s has no package comment", p.dir)
		}
	}
}

// hasPackageComment reports whether one of the files that document a package
// does: its own, or its tests' if it has no others.
func hasPackageComment(p *sourcePackage) bool {
	files := p.files
	if len(files) == 0 {
		files = p.tests
	}
	for _, f := range files {
		if f.Doc != nil && strings.HasPrefix(f.Doc.Text(), commentStart(f)) {
			return true
		}
	}
	return false
}

// commentStart returns the words that a package comment begins with.
func commentStart(f *ast.File) string {
	if f.Name.Name == "main" {
		return "Command "
	}
	return "Package " + f.Name.Name + " "
}
