// Command testlog prints what go test -json says as go test prints it, and writes the tests
// that left something out (checkout.LeftOut) to a file, so that .ci/run can run those alone
// where nothing is left out: a line each, of the package and the test.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/csiglab/csiglab/internal/checkout"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go test -json PACKAGES | testlog FILE")
		os.Exit(2)
	}
	list, err := read(os.Stdin, os.Stdout)
	if err == nil {
		err = os.WriteFile(os.Args[1], []byte(strings.Join(append(list, ""), "\n")), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(1)
	}
}

// event is a line of go test -json (go doc test2json).
type event struct{ Action, Package, Test, Output string }

// read prints the results of packages and what failed tests said, and returns the tests that
// left something out, sorted.
func read(in io.Reader, out io.Writer) (list []string, err error) {
	type test struct{ pack, name string }
	said := map[test][]string{} // of tests that have not ended well
	leftOut := map[string]bool{}
	w := bufio.NewWriter(out)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil {
				w.WriteString(line) // of make
				continue
			}
			whole, _, _ := strings.Cut(e.Test, "/")
			t := test{e.Package, whole}
			switch {
			case e.Action == "build-output", e.Action == "output" && e.Test == "" && e.Output != "PASS\n":
				w.WriteString(e.Output)
			case e.Action == "output" && e.Test != "":
				said[t] = append(said[t], e.Output)
				if strings.Contains(e.Output, checkout.LeftOut) {
					leftOut[e.Package+" "+whole] = true
				}
			case e.Test == whole && e.Test != "" && (e.Action == "pass" || e.Action == "skip"):
				delete(said, t)
			case e.Test == "" && e.Action == "fail":
				for t, lines := range said {
					if t.pack == e.Package {
						w.WriteString(strings.Join(lines, ""))
						delete(said, t)
					}
				}
			}
			if err := w.Flush(); err != nil {
				return nil, err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(leftOut)), nil
}
