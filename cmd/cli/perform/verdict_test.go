package perform

import (
	"strings"
	"testing"

	"github.com/csiglab/csiglab/reports/reading"
)

// The rate of programs is that over all the time from the first packet to the last; a pause, such as a
// link that was down, is beside it and not left out of it.
func TestWritePrograms(t *testing.T) {
	steady := reading.Achieved{Source: "h0", Destination: "h1", Bytes: 1_000_000, SpanUS: 4e6}
	paused := reading.Achieved{Source: "h0", Destination: "h2", Bytes: 10_000_000, SpanUS: 16e6, PausedUS: 6e6}
	for _, c := range []struct {
		pairs []reading.Achieved
		want  string
	}{
		{nil, ""},
		{[]reading.Achieved{steady}, "programs  received  in   rate\nh0 -> h1  1 MB      4 s  2 Mb/s\n\n"},
		{[]reading.Achieved{paused, steady}, "programs  received  in    rate    without pauses > 1 s  rate\n" +
			"h0 -> h2  10 MB     16 s  5 Mb/s  10 s                  8 Mb/s\nh0 -> h1  1 MB      4 s   2 Mb/s\n\n"},
	} {
		var text strings.Builder
		writePrograms(&text, &reading.Facts{Runs: make([]reading.Run, 1), Achieved: c.pairs})
		if got := strings.ReplaceAll(text.String(), "\u00a0", " "); got != c.want {
			t.Errorf("got\n%swant\n%s", got, c.want)
		}
	}
}
