package lines_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/lines"
)

func TestNext(t *testing.T) {
	r := lines.NewReader("f", strings.NewReader("\n# comment\n a\tbb  c#d #e\r\n   \nlast"))
	var got []lines.Word
	for {
		words, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if words == nil {
			break
		}
		got = append(got, words...)
	}
	want := []lines.Word{
		{Pos: lines.Pos{Line: 3, Column: 2}, Text: "a"}, {Pos: lines.Pos{Line: 3, Column: 4}, Text: "bb"},
		{Pos: lines.Pos{Line: 3, Column: 8}, Text: "c#d"}, {Pos: lines.Pos{Line: 5, Column: 1}, Text: "last"},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("words (got -, want +):\n%s", diff)
	}
	if last := (lines.Pos{Line: 5, Column: 5}); r.Last() != last {
		t.Errorf("last %v, want %v", r.Last(), last)
	}
}

func TestUnreadable(t *testing.T) {
	broken := errors.New("input/output error")
	r := lines.NewReader("dir/f", io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	_, err := r.Next()
	if want := "dir/f:2:1: cannot read the file: input/output error"; err == nil || err.Error() != want || !errors.Is(err, broken) {
		t.Errorf("got %v, want %s, wrapping the reader's error", err, want)
	}
	r = lines.NewReader("f", strings.NewReader("a\n"+strings.Repeat("x", lines.MaxLine+1)))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err == nil || err.Error() != "f:2:1: the line is longer than 65536 bytes" {
		t.Errorf("long line: %v", err)
	}
}
