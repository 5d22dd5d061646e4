package revision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStale: a program is compared with the checkout of its source.
func TestStale(t *testing.T) {
	r := newRepository(t)
	first := r.commit("first", map[string]string{"a.go": "package a\n", "notes.txt": "", "a_test.go": "package a\n"})
	early := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	for _, name := range []string{"a.go", "notes.txt", "a_test.go"} {
		if err := os.Chtimes(filepath.Join(r.dir, name), early, early); err != nil {
			t.Fatal(err)
		}
	}
	clean, changed, unknown := built{commit: first, at: early}, built{commit: first, modified: true, at: early}, built{at: early}
	check := func(when string, b built, want string) {
		t.Helper()
		got := b.stale(t.Context(), r.dir)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s, %+v: %q, want %q", when, b, got, want)
		}
	}
	for _, b := range []built{clean, changed, unknown} {
		check("as built", b, "")
	}
	r.write(map[string]string{"notes.txt": "more", "a_test.go": "package a // more\n"})
	for _, b := range []built{clean, changed, unknown} {
		check("documents and tests", b, "")
	}
	r.write(map[string]string{"a.go": "package a // changed\n"})
	for _, b := range []built{clean, changed, unknown} {
		check("changed later", b, "a.go of ")
	}
	// Built after the change, from it.
	late := time.Now().Add(time.Hour)
	check("changed before", built{commit: first, modified: true, at: late}, "")
	check("changed before", built{at: late}, "")
	check("built from the commit alone", built{commit: first, at: late}, "a.go of ")
	r.commit("second", nil)
	check("another commit", built{commit: first, at: late}, "a.go of ")
	r.git("reset", "-q", "--hard", first)
	r.write(map[string]string{"b.go": "package a\n"})
	check("a new file", clean, "b.go of ")
	other := strings.Repeat("4be1", 10)
	check("another checkout", built{commit: other, at: late}, "commit 4be14be14be1, which ")
	if got := clean.stale(t.Context(), t.TempDir()); got != "" {
		t.Errorf("no repository: %q", got)
	}
}
