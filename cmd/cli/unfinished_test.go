package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
)

// TestUnfinishedFlowsComeFirst: what a run prints begins with the flows that `end` cut
// off, and says over how many flows its statistics are; so does the report.
func TestUnfinishedFlowsComeFirst(t *testing.T) {
	checkout.SkipSlowRace(t)
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := executed(t, "run", write(t, "two.yaml", twoVariants), "--out", folder)
	want := []string{
		"UNFINISHED: 1 of 2 flows did not complete: the end of the run came first, at about 40\u00a0µs (variant off, in all 2 seeds). The least done is 1-3 with ",
		" Completion times are of the flows that completed.\n",
		"two, median of 2 seeds ",
		"\nfct_us.p99 (of 1 to 2 of 2 flows) ",
	}
	at := 0
	for _, text := range want {
		next := strings.Index(stdout[at:], text)
		if next < 0 || text == want[0] && next > 0 {
			t.Fatalf("exit %d; %q is missing or too late:\n%s%s", code, text, stdout, stderr)
		}
		at += next
	}
	if code != 0 {
		t.Errorf("exit %d: %s", code, stderr)
	}
	_, markdown, _ := executed(t, "report", folder, "--markdown")
	if want := "# two\n\n**Flows are unfinished. Valid; the experiment states no expectation.**\n\n- 1 of 2 flows did not complete: the end of the run came first, at about 40\u00a0µs (variant off, in all 2 seeds)."; !strings.HasPrefix(markdown, want) {
		t.Errorf("Markdown does not begin with %q:\n%s", want, markdown)
	}
}
