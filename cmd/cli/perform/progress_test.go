package perform

import (
	"bytes"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command/commandtest"
	"github.com/csiglab/csiglab/reports/reading/readingtest"
)

// "The report's own progress is shown" (issue 11): a report that takes time has a bar on a
// terminal and a line elsewhere, and one that is quick has neither.
func TestReportProgress(t *testing.T) {
	user, screen := commandtest.PseudoTerminal(t)
	p := newReportProgress(screen, "runs/x")
	p.update(0.2)
	p.show()
	p.update(0.5)
	shown := make([]byte, 1000)
	n, err := user.Read(shown)
	if err != nil || !strings.Contains(string(shown[:n]), "report of runs/x") {
		t.Errorf("on a terminal: %q, %v", shown[:n], err)
	}
	p.close()
	p.update(1) // of a reader that goes on after Ctrl-C

	var line bytes.Buffer
	p = newReportProgress(&line, "runs/x")
	p.update(0.2)
	if line.Len() > 0 {
		t.Errorf("at once: %q", line.String())
	}
	p.show()
	p.update(0.5)
	p.close()
	p.show()
	if want := "writing the report of runs/x\n"; line.String() != want {
		t.Errorf("without a terminal: %q, want %q", line.String(), want)
	}
}

// The share of a folder that has been read grows to 1.
func TestShareOfAReport(t *testing.T) {
	dir := (&readingtest.Many{Leaves: 4, Spines: 2, Hosts: 4, Samples: true}).Folder(t).Dir
	var shares []float64
	if _, _, err := WriteReport(t.Context(), dir, func(share float64) { shares = append(shares, share) }); err != nil {
		t.Fatal(err)
	}
	for i, share := range shares {
		if share > 1 || i > 0 && share < shares[i-1] {
			t.Errorf("shares %v", shares)
			break
		}
	}
	if len(shares) == 0 || shares[len(shares)-1] != 1 {
		t.Errorf("shares %v, want the last to be 1", shares)
	}
}
