package trial

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/internal/checkout"
)

// inTurns performs trials of seeds 1 to n.
func inTurns(t *testing.T, play string, n int, together bool) []Outcome {
	t.Helper()
	l := player(t, play)
	l.Together = together
	var trials []Trial
	for i := range n {
		trials = append(trials, Trial{Experiment: "x", Variant: "a", Seed: uint64(i + 1)})
	}
	list, err := All(t.Context(), Watch(l, nil), nil, trials, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		list[i].Seconds = 0
		for k, reason := range list[i].Reasons {
			list[i].Reasons[k], _, _ = strings.Cut(reason, "({0x") // addresses of a panic
		}
	}
	if left := names(t, l.Folder); len(left) > 0 {
		t.Errorf("%s leaves %q", play, left)
	}
	return list
}

// Trials have a process together, which another one follows in time.
func TestTurns(t *testing.T) {
	const more = 3
	var order []float64
	for _, out := range inTurns(t, "process", maxTurns+more, true) {
		if pid := out.Metrics["process"]; len(order) == 0 || order[len(order)-1] != pid {
			order = append(order, pid)
		}
	}
	if len(order) != 2 {
		t.Errorf("processes %v, want 2", order)
	}
}

// What goes wrong with a trial costs no other, and outcomes are those of processes of their own.
func TestTurnsGoWrong(t *testing.T) {
	checkout.SkipSlowRace(t)
	for _, play := range []string{"holds", "fails", "invalid", "mistake", "seed 3 ends", "seed 3 panics", "second of a process", "chatters", "no text", "other variant"} {
		if diff := cmp.Diff(inTurns(t, play, 6, true), inTurns(t, play, 6, false)); diff != "" {
			t.Errorf("%s: together, alone:\n%s", play, diff)
		}
	}
}

// A run that does not end well is the last one of its process.
func TestTurnsEnd(t *testing.T) {
	var in, out bytes.Buffer
	for _, name := range []string{"first", "bad", "after"} {
		if err := json.NewEncoder(&in).Encode([]string{name}); err != nil {
			t.Fatal(err)
		}
	}
	err := Turns(&in, &out, func(args []string, stdout io.Writer) int {
		io.WriteString(stdout, strings.Join(args, " "))
		if args[0] == "bad" {
			return 3
		}
		return 0
	})
	if want := "0 5 1\nfirst3 3 0\nbad"; err != nil || out.String() != want {
		t.Errorf("%q, %v, want %q", out.String(), err, want)
	}
	if err := Turns(strings.NewReader("{"), io.Discard, nil); err == nil {
		t.Error("no error")
	}
}
