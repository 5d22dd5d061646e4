package checkout

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// mostByHand is how many bytes of a page that a test writes may stand before what it writes.
const mostByHand = 6000

// written finds the line of a page behind which a test writes. It names the command.
var written = regexp.MustCompile(`(?m)^<!-- .* -update -->\n`)

// Page returns a page of docs in parts: what is written by hand, the line behind it, and what a
// test writes behind that line.
func Page(t testing.TB, name string) (byHand, line, behind string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Repository(t), "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	at := written.FindIndex(text)
	if at == nil {
		t.Fatalf("docs/%s has no line that ends with -update -->", name)
	}
	return string(text[:at[0]]), string(text[at[0]:at[1]]), string(text[at[1]:])
}

// Written fails the test if a page of docs does not say want behind what is written by hand, or
// if that is long. With update it writes want.
func Written(t testing.TB, name, want string, update bool) {
	t.Helper()
	byHand, line, got := Page(t, name)
	if len(byHand) > mostByHand {
		t.Errorf("%d bytes of docs/%s are written by hand; want at most %d", len(byHand), name, mostByHand)
	}
	switch {
	case update:
		if err := os.WriteFile(filepath.Join(Repository(t), "docs", name), []byte(byHand+line+want), 0o644); err != nil {
			t.Fatal(err)
		}
	case got != want:
		t.Errorf("docs/%s is not what the code says; the line before says which command writes it: %s", name, line)
	}
}
