package builder

import (
	"slices"
	"strings"
	"testing"
)

// Functions of two versions of a package, told apart by their tokens.
func TestChanged(t *testing.T) {
	const pkg = modulePath + "/nodes/x"
	before := functionsOf(pkg, "a.go", []byte(`package x

import "fmt"

const limit = 3

// New is new.
func New() int { return 1 }

func (t *T) Add(n int) { fmt.Println(n) }

func Moved() { panic(0) }

func init() { New() }
`))
	after := slices.Concat(functionsOf(pkg, "a.go", []byte(`package x

import ("fmt"; "os")

const limit = 4

// New says something else.
func New() int {
	return 1 // the same
}

func (t *T) Add(n int) { fmt.Println(n + 1) }

func init() { New() }
`)), functionsOf(pkg, "b.go", []byte(`package x

func Moved() { panic(0) }

func Fresh() { panic(0) }

func init() { New() }
`)))
	var names []string
	for _, f := range Changed(before, after) {
		names = append(names, f.String())
	}
	if got, want := strings.Join(names, ", "), "nodes/x.(*T).Add, declarations of nodes/x/a.go, nodes/x.Fresh, nodes/x.init"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := len(Changed(before, before)); n != 0 {
		t.Errorf("%d functions differ from themselves", n)
	}
	if list := functionsOf(pkg, "a.go", []byte("package x\nfunc {")); list != nil {
		t.Errorf("of what is no Go: %v", list)
	}
}

// A function was executed if a block within its lines was.
func TestNotExecuted(t *testing.T) {
	const profile = `mode: set
example.com/m/x/a.go:10.20,12.3 2 1
example.com/m/x/a.go:13.2,14.3 1 0
example.com/m/x/a.go:20.20,22.3 2 0
example.com/m/y/b.go:5.1,6.2 1 0
`
	x, y := "example.com/m/x", "example.com/m/y"
	not, err := notExecuted([]byte(profile), []Function{
		{Package: x, File: "a.go", Name: "Ran", First: 10, Last: 15, runs: true},
		{Package: x, File: "a.go", Name: "Not", First: 20, Last: 23, runs: true},
		{Package: x, File: "other.go", Name: "SameLines", First: 10, Last: 15, runs: true},
		{Package: x, File: "a.go", Name: "Empty", First: 30, Last: 30},
		{Package: x, File: "a.go"},
		{Package: y, File: "b.go"},
		{Package: "example.com/m/z", File: "c.go", Name: "NotLinked", First: 1, Last: 2, runs: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range not {
		names = append(names, f.String())
	}
	if got, want := strings.Join(names, ", "), "example.com/m/x.Not, example.com/m/x.SameLines, declarations of example.com/m/y/b.go, example.com/m/z.NotLinked"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := notExecuted([]byte("mode: set\nx/a.go:nonsense\n"), nil); err == nil {
		t.Error("a line that is none is read")
	}
}
