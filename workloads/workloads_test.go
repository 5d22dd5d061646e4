package workloads_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads"
)

const none = workloads.None

// transfer returns one of 1 kB with the given triggers.
func transfer(src, dst, after, sendDone int) workloads.Transfer {
	return workloads.Transfer{Src: src, Dst: dst, Size: units.KB, After: after, SendDone: sendDone, RecvDone: none}
}

func TestJobNumbers(t *testing.T) {
	w := &workloads.Workload{Transfers: []workloads.Transfer{{Job: 0}, {Job: 3}}, JobNames: map[int]string{3: "calls"}}
	w.AddJobs(nil)
	if w.Transfers[1].Job != 3 || w.JobNames[3] != "calls" {
		t.Errorf("without jobs: %v, %v", w.Transfers, w.JobNames)
	}
	w.AddJobs([]workloads.Job{{Name: "a"}, {Name: "b"}})
	if w.Transfers[0].Job != 2 || w.Transfers[1].Job != 5 || len(w.JobNames) != 1 || w.JobNames[5] != "calls" {
		t.Errorf("behind two jobs: %v, %v", w.Transfers, w.JobNames)
	}
}

func TestValidate(t *testing.T) {
	one := []workloads.Trigger{{Label: "7", Kind: workloads.OneShot}}
	for _, c := range []struct {
		transfers []workloads.Transfer
		triggers  []workloads.Trigger
		want      string // part of the error; "" if valid
	}{
		{nil, nil, "no transfers"},
		{[]workloads.Transfer{transfer(0, 1, none, none)}, nil, ""},
		{[]workloads.Transfer{transfer(0, 4, none, none)}, nil, "transfer 1 (0->4): hosts go from 0 to 3"},
		{[]workloads.Transfer{transfer(2, 2, none, none)}, nil, "same host"},
		{[]workloads.Transfer{{Dst: 1, After: none, SendDone: none, RecvDone: none}}, nil, "size 0B is not positive"},
		{[]workloads.Transfer{{Dst: 1, Size: 1, Start: -1, After: none, SendDone: none, RecvDone: none}}, nil, "before the run"},
		{[]workloads.Transfer{transfer(0, 1, 0, none)}, nil, "unknown trigger"},
		{[]workloads.Transfer{transfer(0, 1, none, 1)}, one, "unknown trigger"},
		{[]workloads.Transfer{transfer(0, 1, none, none)}, one, "trigger 7: no transfer hits it"},
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(1, 2, 0, none)}, one, ""},
		{[]workloads.Transfer{transfer(0, 1, none, none), transfer(1, 2, 0, 0)}, one, "transfer 2 (1->2) can never start"},
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(1, 2, 0, none)}, []workloads.Trigger{{Label: "7", Kind: workloads.Barrier, Count: 2}}, "barrier 7 waits for 2 hits, 1 can come"},
		// Both hits of the barrier come, but one of them only after it fires.
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(1, 2, 0, 0)}, []workloads.Trigger{{Label: "7", Kind: workloads.Barrier, Count: 2}}, "transfer 2 (1->2) can never start"},
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(0, 2, none, 0), transfer(1, 2, 0, none)}, []workloads.Trigger{{Label: "7", Kind: workloads.Barrier, Count: 2}}, ""},
		// A multishot trigger starts one transfer per hit.
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(1, 2, 0, none), transfer(1, 3, 0, none)}, []workloads.Trigger{{Label: "7", Kind: workloads.MultiShot}}, "transfer 3 (1->3) can never start"},
		{[]workloads.Transfer{transfer(0, 1, none, 0), transfer(1, 2, 0, 0), transfer(1, 3, 0, none)}, []workloads.Trigger{{Label: "7", Kind: workloads.MultiShot}}, ""},
	} {
		w := workloads.Workload{Name: "w", Hosts: 4, Transfers: c.transfers, Triggers: c.triggers}
		err := w.Validate()
		if c.want == "" {
			if err != nil {
				t.Errorf("%+v: %v, want none", c.transfers, err)
			}
			continue
		}
		if !errors.Is(err, workloads.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.transfers, err, c.want)
		}
	}
}

// Every host sends once and receives once, never to itself, and the seed alone
// decides.
func TestPermutation(t *testing.T) {
	for _, hosts := range []int{2, 3, 16, 128} {
		different := 0
		for seed := range uint64(20) {
			w, err := workloads.Permutation(hosts, units.MB, seed)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Validate(); err != nil {
				t.Fatalf("%d hosts, seed %d: %v", hosts, seed, err)
			}
			received := make(map[int]bool)
			for i, x := range w.Transfers {
				if x.Src != i || received[x.Dst] {
					t.Errorf("%d hosts, seed %d: transfer %d is %d->%d", hosts, seed, i, x.Src, x.Dst)
				}
				received[x.Dst] = true
			}
			if len(received) != hosts {
				t.Errorf("%d hosts, seed %d: %d receive", hosts, seed, len(received))
			}
			again, err := workloads.Permutation(hosts, units.MB, seed)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(w, again); diff != "" {
				t.Errorf("%d hosts, seed %d: a second call differs:\n%s", hosts, seed, diff)
			}
			other, err := workloads.Permutation(hosts, units.MB, seed+1)
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(w, other) {
				different++
			}
		}
		if hosts > 2 && different == 0 {
			t.Errorf("%d hosts: no seed changes the permutation", hosts)
		}
	}
}

func TestIncast(t *testing.T) {
	w, err := workloads.Incast(8, 2, 4, units.MB)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Validate(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range w.Transfers {
		got = append(got, fmt.Sprintf("%s: %d->%d %v", x.Label, x.Src, x.Dst, x.Size))
	}
	if diff := cmp.Diff(got, []string{"1: 0->2 1MB", "2: 1->2 1MB", "3: 3->2 1MB", "4: 4->2 1MB"}); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
}

// Every ordered pair appears once; with a limit, each host has as many
// transfers that wait for none.
func TestAllToAll(t *testing.T) {
	for parallel := range 6 {
		w, err := workloads.AllToAll(5, parallel, units.KB)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Validate(); err != nil {
			t.Fatalf("parallel %d: %v", parallel, err)
		}
		pairs, free := make(map[[2]int]bool), 0
		for _, x := range w.Transfers {
			pairs[[2]int{x.Src, x.Dst}] = true
			if x.After == none {
				free++
			}
			for _, y := range w.Transfers {
				if x.SendDone != none && y.After == x.SendDone && y.Src != x.Src {
					t.Errorf("parallel %d: %d->%d starts a transfer of host %d", parallel, x.Src, x.Dst, y.Src)
				}
			}
		}
		if len(pairs) != 20 || len(w.Transfers) != 20 {
			t.Errorf("parallel %d: %d pairs in %d transfers, want 20", parallel, len(pairs), len(w.Transfers))
		}
		want := 5 * min(parallel, 4)
		if parallel == 0 {
			want = 20
		}
		if free != want {
			t.Errorf("parallel %d: %d transfers start at once, want %d", parallel, free, want)
		}
	}
}

func TestGeneratorsRefuse(t *testing.T) {
	for name, make := range map[string]func() (*workloads.Workload, error){
		"one host":        func() (*workloads.Workload, error) { return workloads.Permutation(1, units.MB, 1) },
		"no size":         func() (*workloads.Workload, error) { return workloads.Permutation(4, 0, 1) },
		"too many":        func() (*workloads.Workload, error) { return workloads.AllToAll(2049, 0, units.MB) },
		"unknown host":    func() (*workloads.Workload, error) { return workloads.Incast(4, 4, 1, units.MB) },
		"fan-in too wide": func() (*workloads.Workload, error) { return workloads.Incast(4, 0, 4, units.MB) },
		"negative limit":  func() (*workloads.Workload, error) { return workloads.AllToAll(4, -1, units.MB) },
	} {
		if _, err := make(); !errors.Is(err, workloads.ErrInvalid) {
			t.Errorf("%s: error %v, want ErrInvalid", name, err)
		}
	}
}

func ExampleIncast() {
	w, err := workloads.Incast(16, 15, 15, 2*units.MB)
	if err != nil {
		panic(err)
	}
	fmt.Println(len(w.Transfers), "transfers,", w.Bytes())
	// Output: 15 transfers, 30MB
}

// A shift by the hosts of a Dragonfly's group sends every host of a group to the next one.
func TestShift(t *testing.T) {
	w, err := workloads.Shift(72, 8, units.KB)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Transfers) != 72 || w.Validate() != nil {
		t.Fatalf("%d transfers, %v", len(w.Transfers), w.Validate())
	}
	for i, f := range w.Transfers {
		if f.Src != i || f.Dst != (i+8)%72 || f.Dst/8 != (i/8+1)%9 || f.Size != units.KB {
			t.Errorf("transfer %d is %+v", i, f)
		}
	}
	for _, by := range []int{-1, 0, 72, 73} {
		if _, err := workloads.Shift(72, by, units.KB); !errors.Is(err, workloads.ErrInvalid) {
			t.Errorf("a shift by %d of 72 hosts: %v", by, err)
		}
	}
}
