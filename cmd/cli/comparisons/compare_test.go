package comparisons

import (
	"strings"
	"testing"
)

// The command that shows all has the flags of this one.
func TestCompareSaysHowToSeeAll(t *testing.T) {
	f := compareFlags{chosen: chosen{[]string{"fct_us.*", "trims"}, "0.1%"}, single: true}
	if got, want := f.whole([]string{"runs/a", "it's:v"}), `csiglab compare runs/a 'it'\''s:v' --metric 'fct_us.*' --metric trims --delta 0.1% --single --html compare.html`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := f.whole([]string{"a", "b", "c:v"}), "csiglab compare a b c:v --metric"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s first", got, want)
	}
	f = compareFlags{chosen: chosen{delta: defaultDelta}}
	if got, want := f.whole([]string{"a", "b"}), "csiglab compare a b --html compare.html"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
