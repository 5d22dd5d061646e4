package builder

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Function is a function of the source that is compiled, or what a file declares beside its
// functions. Modules of versions have none.
type Function struct {
	Package     string // import path
	File        string // base name
	Name        string // such as New or (*Switch).Receive; empty: what the file declares beside its functions
	First, Last int    // lines
	runs        bool   // it has statements
	digest      [32]byte
}

// String returns the name with the package within csiglab, such as nodes/csig.New.
func (f *Function) String() string {
	folder := strings.TrimPrefix(f.Package, modulePath+"/")
	if f.Name == "" {
		return "declarations of " + folder + "/" + f.File
	}
	return folder + "." + f.Name
}

// functionsOf returns the functions of a file. Of text that is no Go it returns none: the
// compiler says what is wrong.
func functionsOf(pkg, file string, text []byte) (list []Function) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	rest := Function{Package: pkg, File: file}
	var declared []byte
	for _, d := range parsed.Decls {
		first, last := set.Position(d.Pos()), set.Position(d.End())
		source := text[first.Offset:last.Offset]
		switch d := d.(type) {
		case *ast.FuncDecl:
			f := Function{Package: pkg, File: file, Name: d.Name.Name, First: first.Line, Last: last.Line, digest: digest(source)}
			f.runs = d.Body != nil && len(d.Body.List) > 0
			if d.Recv != nil && len(d.Recv.List) == 1 {
				receiver := d.Recv.List[0].Type
				f.Name = fmt.Sprintf("(%s).%s", text[set.Position(receiver.Pos()).Offset:set.Position(receiver.End()).Offset], f.Name)
			}
			list = append(list, f)
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				declared = append(append(declared, source...), '\n')
			}
		}
	}
	if len(declared) > 0 {
		rest.digest = digest(declared)
		list = append(list, rest)
	}
	return list
}

// digest returns the digest of Go source without comments and layout.
func digest(source []byte) (sum [32]byte) {
	hash := sha256.New()
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(source)), source, nil, 0)
	for {
		switch _, tok, literal := s.Scan(); tok {
		case token.EOF:
			return [32]byte(hash.Sum(sum[:0]))
		case token.SEMICOLON: // often the end of a line
		default:
			fmt.Fprintf(hash, "%d %q\n", tok, literal)
		}
	}
}

// Changed returns the functions of after that before has not got, or has with other code. One
// that has moved to another file of its package has not changed.
func Changed(before, after []Function) (changed []Function) {
	type key struct{ pkg, file, name string }
	of := func(f *Function) key {
		if f.Name == "" || f.Name == "init" || f.Name == "_" { // a package may have several
			return key{f.Package, f.File, f.Name}
		}
		return key{f.Package, "", f.Name}
	}
	was := map[key][32]byte{}
	for i := range before {
		was[of(&before[i])] = before[i].digest
	}
	for _, f := range after {
		if sum, ok := was[of(&f)]; !ok || sum != f.digest {
			changed = append(changed, f)
		}
	}
	return changed
}

// NotExecuted returns those of the functions that no process executed, of those which left what
// they executed (GOCOVERDIR) in a folder. They are of a program that was built with Request.Cover.
// Declarations count as executed if anything of their package was, and functions without
// statements always.
func NotExecuted(ctx context.Context, folder string, functions []Function) (not []Function, err error) {
	t, err := findTool(folder)
	if err != nil {
		return nil, err
	}
	defer t.group.close()
	profile := filepath.Join(folder, "profile.txt")
	if _, err := t.run(ctx, call{dir: folder, args: []string{"tool", "covdata", "textfmt", "-i=" + folder, "-o=" + profile}}); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	return notExecuted(text, functions)
}

// notExecuted is NotExecuted for the text of a profile.
func notExecuted(profile []byte, functions []Function) (not []Function, err error) {
	lines := map[string][][2]int{} // first and last line of what was executed, by file
	packages := map[string]bool{}
	for s := bufio.NewScanner(bytes.NewReader(profile)); s.Scan(); {
		name, place, ok := strings.Cut(s.Text(), ".go:")
		if !ok {
			continue // the mode
		}
		var first, last, column, statements, count int
		if _, err := fmt.Sscanf(place, "%d.%d,%d.%d %d %d", &first, &column, &last, &column, &statements, &count); err != nil {
			return nil, fmt.Errorf("go tool covdata: %q: %w", s.Text(), err)
		}
		if count > 0 {
			lines[name+".go"] = append(lines[name+".go"], [2]int{first, last})
			packages[path.Dir(name)] = true
		}
	}
	for _, f := range functions {
		ran := f.Name == "" && packages[f.Package] || f.Name != "" && !f.runs
		for _, block := range lines[f.Package+"/"+f.File] {
			ran = ran || f.Name != "" && f.First <= block[0] && block[1] <= f.Last
		}
		if !ran {
			not = append(not, f)
		}
	}
	return not, nil
}
