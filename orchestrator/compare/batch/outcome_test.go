package batch

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// A report is read back exactly, whatever else the log has, and lines are short enough for
// every log of containers.
func TestReport(t *testing.T) {
	checkout.SkipSlowRace(t)
	random := rand.New(rand.NewPCG(3, 4))
	for _, metrics := range []int{0, 10, 20_000} {
		want := &report{Key: "0123", Outcome: trial.Outcome{Exit: 1, Reasons: []string{"a\nb"}, Seconds: 1.5, TraceHash: "f"}}
		if metrics > 0 {
			want.Outcome.Metrics = map[string]float64{}
		}
		for i := range metrics {
			want.Outcome.Metrics[fmt.Sprintf("metric.%d", i)] = math.Float64frombits(random.Uint64() &^ (1 << 62))
		}
		var log bytes.Buffer
		if err := want.write(&log); err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(strings.TrimPrefix(log.String(), "\n"), "\n")
		if n := len(lines) - 1; metrics <= 10 && n != 1 || metrics > 10 && n < 2 {
			t.Errorf("%d metrics: %d lines", metrics, n)
		}
		noisy := "noise without end" + lines[0] + strings.Repeat("long ", 20_000) + "\n" + reportMark + "1/x 3\n" + reportMark + "1/1 3 00000000 abc\n"
		for _, line := range lines[1:] {
			if len(line) > 16<<10 {
				t.Errorf("a line of %d bytes", len(line))
			}
			noisy += "[warning] " + strings.TrimSuffix(line, "\n") + " behind it\n"
			noisy += line // again, as a log that is read anew
		}
		for _, reader := range []io.Reader{strings.NewReader(noisy), iotest.OneByteReader(strings.NewReader(log.String())), iotest.HalfReader(strings.NewReader(noisy))} {
			got, err := readReport(reader)
			if err != nil || !cmp.Equal(got, want) {
				t.Errorf("%d metrics: %v", metrics, err)
			}
		}
		for cut := 1; cut < 20; cut++ {
			if got, err := readReport(strings.NewReader(log.String()[:log.Len()-1-cut])); err == nil {
				t.Errorf("cut by %d: %+v", cut, got)
			}
		}
		damaged := bytes.Clone(log.Bytes())
		damaged[len(damaged)-9] ^= 1
		if got, err := readReport(bytes.NewReader(damaged)); err == nil {
			t.Errorf("damaged: %+v", got)
		}
	}
}
