package comparisons

import (
	"strings"
	"testing"
)

// The command that shows all has the flags of this one.
func TestCompareSaysHowToSeeAll(t *testing.T) {
	f := compareFlags{metrics: []string{"fct_us.*", "trims"}, single: true, delta: "0.1%"}
	if got, want := f.whole([]string{"runs/a", "it's:v"}), `csiglab compare runs/a 'it'\''s:v' --metric 'fct_us.*' --metric trims --single --delta 0.1% --html compare.html`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got, want := f.whole([]string{"a", "b", "c:v"}), "csiglab compare a b c:v --metric"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s first", got, want)
	}
	f = compareFlags{delta: defaultDelta}
	if got, want := f.whole([]string{"a", "b"}), "csiglab compare a b --html compare.html"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
