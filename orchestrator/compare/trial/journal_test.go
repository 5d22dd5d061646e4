package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

func open(t testing.TB, dir string) *Journal {
	t.Helper()
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func list(n int) (trials []Trial) {
	for i := range n {
		trials = append(trials, Trial{Identity: "i", Experiment: "x\n\"<é", Variant: "a", Seed: uint64(i)})
	}
	return trials
}

// A batch whose function failed may have added outcomes that are not on the disk: the error
// is of both, and nothing can be added afterwards.
func TestBatchOnAFullDisk(t *testing.T) {
	j := open(t, t.TempDir())
	other := errors.New("the other reason")
	err := j.Batch(func(add func(Trial, Outcome) error) error {
		if err := add(list(1)[0], Outcome{}); err != nil {
			t.Fatal(err)
		}
		j.file.Close() // Sync fails
		return other
	})
	if !errors.Is(err, other) || !errors.Is(err, failure.ErrInfrastructure) {
		t.Errorf("got %v, want the error of the function and that of the disk", err)
	}
	if err := j.Add(list(2)[1], Outcome{}); !errors.Is(err, failure.ErrInfrastructure) {
		t.Errorf("Add after a batch that is not on the disk: %v", err)
	}
}

// What was added is there after the process has gone.
func TestJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	j := open(t, dir)
	trials := list(3)
	outcomes := []Outcome{{Metrics: map[string]float64{"m": 0.1, "<n>": 1e300}, TraceHash: "h"}, {Exit: 1, Seconds: 2}, {Exit: 2, Reasons: []string{"a\nb"}}}
	for i, trial := range trials {
		if err := j.Add(trial, outcomes[i]); err != nil {
			t.Fatal(err)
		}
	}
	outcomes[2] = Outcome{Exit: 1, Seconds: 5}
	if err := j.Add(trials[2], outcomes[2]); err != nil { // replaces
		t.Fatal(err)
	}
	read, err := ReadJournal(dir) // while it is open
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if err := read.Add(trials[0], outcomes[0]); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Add to a journal for reading: %v", err)
	}
	if _, err := OpenJournal(dir); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	for what, j := range map[string]*Journal{"reopened": open(t, dir), "read": read} {
		if j.Len() != 3 {
			t.Errorf("%s: %d trials", what, j.Len())
		}
		for i, trial := range trials {
			got, ok, err := j.Get(trial)
			if !ok || err != nil || !cmp.Equal(got, outcomes[i]) || !j.Has(trial) {
				t.Errorf("%s: trial %d: %+v, %v, %v", what, i, got, ok, err)
			}
		}
		if _, ok, err := j.Get(Trial{}); ok || err != nil || j.Has(Trial{}) {
			t.Errorf("%s: an unknown trial: %v, %v", what, ok, err)
		}
	}
	if _, err := ReadJournal(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
}

// A journal that is cut anywhere, or that ends with anything, has the whole lines before
// that, and goes on behind them.
func TestTornJournal(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	trials := list(3)
	var ends []int64
	for _, trial := range trials {
		if err := j.Add(trial, Outcome{Metrics: map[string]float64{"m": 1}}); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, j.size)
	}
	j.Close()
	whole, err := os.ReadFile(filepath.Join(dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	check := func(text []byte, want int) {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, JournalFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		j := open(t, dir)
		if j.Len() != want {
			t.Fatalf("%d trials of %q, want %d", j.Len(), text, want)
		}
		for _, trial := range trials {
			if j.Has(trial) {
				continue
			}
			if err := j.Add(trial, Outcome{}); err != nil {
				t.Fatal(err)
			}
		}
		j.Close()
		if j := open(t, dir); j.Len() != len(trials) {
			t.Fatalf("then %d trials", j.Len())
		}
	}
	for cut := int64(0); cut <= ends[2]; cut += 7 {
		want := 0
		for _, end := range ends {
			if cut >= end {
				want++
			}
		}
		check(whole[:cut], want)
	}
	for _, tail := range []string{"\x00\x00\x00", "garbage\n", `{"trial":null}` + "\n", "[1]\n", `{"trial":{"seed":-1},"outcome":{}}` + "\n"} {
		check(append(whole[:ends[2]:ends[2]], tail...), 3)
	}
	if err := os.WriteFile(filepath.Join(dir, JournalFile), append([]byte("garbage\n"), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenJournal(dir); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), JournalFile+":1:") {
		t.Errorf("damage before the last line: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, JournalFile)); err != nil || len(after) != len(whole)+8 {
		t.Errorf("the damaged file was changed: %d bytes, %v", len(after), err)
	}
}

// No flipped bit changes an outcome: the line is named, or its trial is run again.
func TestFlippedBits(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	if err := j.Claim("plan"); err != nil {
		t.Fatal(err)
	}
	trials := list(3)
	for i, trial := range trials {
		if err := j.Add(trial, Outcome{Exit: i % 2, Metrics: map[string]float64{"fct_us.mean": 123.456 + float64(i), "drops": 7}}); err != nil {
			t.Fatal(err)
		}
	}
	var want []Outcome
	for _, trial := range trials {
		out, _, err := j.Get(trial)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, out)
	}
	j.Close()
	whole, err := os.ReadFile(filepath.Join(dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	flips := 8 * len(whole)
	for flip := 0; flip < flips; flip += 3 {
		text := slices.Clone(whole)
		text[flip/8] ^= 1 << (flip % 8)
		if err := os.WriteFile(filepath.Join(dir, JournalFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := ReadJournal(dir)
		if err != nil {
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), JournalFile+":") {
				t.Fatalf("bit %d: %v", flip, err)
			}
			named++
			continue
		}
		if j.Plan() != "plan" {
			t.Fatalf("bit %d: plan %q", flip, j.Plan())
		}
		if j.Len() > len(trials) {
			t.Fatalf("bit %d: %d trials", flip, j.Len())
		}
		for i, trial := range trials {
			got, ok, err := j.Get(trial)
			if ok && !reflect.DeepEqual(got, want[i]) || err != nil || i < 1 && !ok {
				t.Fatalf("bit %d: trial %d: %v, %v, %v", flip, i, got, ok, err)
			}
		}
		j.Close()
	}
	if named < flips/5 { // the others are in the last line, which counts as torn if it is not JSON
		t.Errorf("%d of %d flips are named", named, flips/3)
	}
	t.Logf("%d of %d flips are named; with the others, the last trial is run again, or the last two if their newline is gone", named, flips/3)
}

// Two lines that differ about one trial, as of two journals that were put together, are
// named. The same line twice, and numbers after a run that had none, are taken.
func TestContradictions(t *testing.T) {
	trial := Trial{Seed: 1}
	first := Outcome{Metrics: map[string]float64{"m": 1}}
	for _, test := range []struct {
		name   string
		second Outcome
		behind bool // another line follows
		bad    bool
	}{
		{"the same", first, false, false},
		{"another number", Outcome{Metrics: map[string]float64{"m": 2}}, false, true},
		{"another number, before the last line", Outcome{Metrics: map[string]float64{"m": 2}}, true, true},
		{"without numbers", Outcome{}, false, true},
		{"another exit code", Outcome{Exit: 1, Metrics: first.Metrics}, false, true},
		{"invalid", Outcome{Exit: 3}, false, true},
	} {
		dir := t.TempDir()
		j := open(t, dir)
		add := func(trial Trial, out Outcome) {
			if err := j.Add(trial, out); err != nil {
				t.Fatal(err)
			}
		}
		add(trial, Outcome{Exit: 3}) // an invalid run, which was repeated
		add(trial, first)
		add(trial, test.second)
		if test.behind {
			add(Trial{Seed: 2}, first)
		}
		j.Close()
		for name, open := range map[string]func(string) (*Journal, error){"OpenJournal": OpenJournal, "ReadJournal": ReadJournal} {
			j, err := open(dir)
			if err == nil {
				j.Close()
			}
			if test.bad != errors.Is(err, ErrDamaged) || test.bad && !strings.Contains(err.Error(), JournalFile+":3: ") {
				t.Errorf("%s, %s: %v", test.name, name, err)
			}
		}
	}
}

// A folder holds one campaign.
func TestClaim(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	for _, plan := range []string{"one", "one"} {
		if err := j.Claim(plan); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j = open(t, dir)
	if err := j.Claim("two"); !errors.Is(err, ErrOtherPlan) || j.Plan() != "one" {
		t.Errorf("%v, plan %q", err, j.Plan())
	}
	other := open(t, t.TempDir())
	if err := other.Add(Trial{}, Outcome{}); err != nil {
		t.Fatal(err)
	}
	if err := other.Claim("one"); !errors.Is(err, ErrOtherPlan) {
		t.Errorf("a journal with trials of no plan: %v", err)
	}
}

// A disk that is full ends the campaign, and what was written before stays.
func TestJournalOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	if err := j.Add(Trial{}, Outcome{}); err != nil {
		t.Fatal(err)
	}
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	file := j.file
	j.file = full
	for range 2 {
		if err := j.Add(Trial{Seed: 1}, Outcome{}); !failure.DiskFull(err) || !errors.Is(err, failure.ErrInfrastructure) {
			t.Errorf("%v", err)
		}
	}
	full.Close()
	j.file = file
	if j.Has(Trial{Seed: 1}) || !j.Has(Trial{}) {
		t.Error("the journal has what it could not write, or lacks what it could")
	}
}

// runner is a Runner for tests.
type runner func(context.Context, Trial) (Outcome, error)

func (r runner) Run(ctx context.Context, t Trial) (Outcome, error) { return r(ctx, t) }

// Outcomes are in the order of the trials, no more run at once than is said, none twice, and
// none that the journal has.
func TestAll(t *testing.T) {
	j := open(t, t.TempDir())
	trials := list(50)
	trials = append(trials, trials[7], trials[8], trials[7])
	if err := j.Add(trials[3], Outcome{Exit: 1}); err != nil {
		t.Fatal(err)
	}
	var running, most, runs atomic.Int32
	var order []int
	var mu sync.Mutex
	r := runner(func(_ context.Context, x Trial) (Outcome, error) {
		most.Store(max(most.Load(), running.Add(1)))
		defer running.Add(-1)
		runs.Add(1)
		mu.Lock()
		order = append(order, int(x.Seed))
		mu.Unlock()
		return Outcome{Metrics: map[string]float64{"seed": float64(x.Seed)}}, nil
	})
	var told []int
	got, err := All(t.Context(), r, j, trials, 4, func(done, total int) {
		if total != len(trials) {
			t.Errorf("%d in all", total)
		}
		told = append(told, done)
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, out := range got {
		if i == 3 && out.Exit != 1 || i != 3 && out.Metrics["seed"] != float64(trials[i].Seed) {
			t.Errorf("trial %d: %+v", i, out)
		}
	}
	if runs.Load() != 49 || most.Load() > 4 || j.Len() != 50 || len(told) != len(trials) || told[len(told)-1] != len(trials) {
		t.Errorf("%d runs, %d at once, %d in the journal, progress %v", runs.Load(), most.Load(), j.Len(), told)
	}
	order = nil
	if _, err := All(t.Context(), r, nil, list(20), 1, nil); err != nil || !cmp.Equal(order, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}) {
		t.Errorf("one after the other: %v, %v", order, err)
	}
}

// An error of the machine ends the campaign: no trial begins after it, those under way are
// told, and the trials that have ended are kept.
func TestAllEndsAtAnError(t *testing.T) {
	j := open(t, t.TempDir())
	broken := errors.New("the disk is full")
	var begun atomic.Int32
	told := make(chan struct{}, 1)
	r := runner(func(ctx context.Context, x Trial) (Outcome, error) {
		begun.Add(1)
		switch x.Seed {
		case 3:
			return Outcome{}, broken
		case 2:
			<-ctx.Done()
			told <- struct{}{}
			return Outcome{}, ctx.Err()
		}
		return Outcome{}, nil
	})
	if _, err := All(t.Context(), r, j, list(50), 2, nil); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	<-told
	if begun.Load() > 5 || j.Len() != 2 || !j.Has(list(2)[1]) {
		t.Errorf("%d trials have begun, %d are kept", begun.Load(), j.Len())
	}
	ctx, stop := context.WithCancel(t.Context())
	n := 0
	_, err := All(ctx, runner(func(ctx context.Context, x Trial) (Outcome, error) {
		if n++; n == 3 {
			stop()
		}
		return Outcome{}, ctx.Err()
	}), nil, list(50), 1, nil)
	if !errors.Is(err, context.Canceled) || n != 3 {
		t.Errorf("interrupted: %v after %d", err, n)
	}
}

func ExampleAll() {
	r := runner(func(_ context.Context, t Trial) (Outcome, error) {
		return Outcome{Metrics: map[string]float64{"fct_us.p99": 100 * float64(t.Seed)}}, nil
	})
	trials := []Trial{{Experiment: "incast", Seed: 1}, {Experiment: "incast", Seed: 2}}
	outcomes, err := All(context.Background(), r, nil, trials, 2, nil)
	for _, out := range outcomes {
		fmt.Println(out.Metrics["fct_us.p99"])
	}
	fmt.Println(err)
	// Output:
	// 100
	// 200
	// <nil>
}

// A run that was killed, or was invalid for another reason of the machine, is run again in
// the next session, and counts as it then comes out. Within a session it stays.
func TestInvalidRunsAgain(t *testing.T) {
	dir := t.TempDir()
	trials := list(3)
	session := func(exit int) (ran []uint64, outcomes []Outcome) {
		t.Helper()
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		r := runner(func(_ context.Context, x Trial) (Outcome, error) {
			ran = append(ran, x.Seed)
			if x.Seed == 2 {
				return Outcome{Exit: exit, Reasons: []string{"killed"}}, nil
			}
			return Outcome{Exit: 1}, nil
		})
		for range 2 {
			if outcomes, err = All(t.Context(), r, j, trials, 1, nil); err != nil {
				t.Fatal(err)
			}
		}
		return ran, outcomes
	}
	var all []uint64
	for _, one := range trials {
		all = append(all, one.Seed)
	}
	for i, test := range []struct {
		exit int
		want []uint64
	}{{3, all}, {3, []uint64{2}}, {0, []uint64{2}}, {3, nil}} {
		ran, outcomes := session(test.exit)
		if !cmp.Equal(ran, test.want) {
			t.Errorf("session %d ran %v, want %v", i+1, ran, test.want)
		}
		for k, one := range trials {
			if want := test.exit; one.Seed == 2 && i < 3 && outcomes[k].Exit != want || one.Seed == 2 && i == 3 && outcomes[k].Exit != 0 {
				t.Errorf("session %d: exit %d", i+1, outcomes[k].Exit)
			}
		}
	}
	j, err := ReadJournal(dir)
	if err != nil || j.Len() != 3 {
		t.Errorf("%d trials, %v", j.Len(), err)
	}
}
