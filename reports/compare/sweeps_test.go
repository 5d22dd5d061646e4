package compare

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A shard of a sweep has its part of the runs: I/N those whose number from 0 is I-1 modulo N.
func TestTrialsOfShards(t *testing.T) {
	p := plan{Points: make([]json.RawMessage, 5), Variants: []string{"a"}, Seeds: []uint64{1, 2}}
	if got := p.trials(); got != 10 {
		t.Errorf("%d runs, want 10", got)
	}
	for _, of := range []int{1, 2, 3, 4, 11} {
		p.Shard.Of = of
		for index := 1; index <= of; index++ {
			p.Shard.Index = index
			want := 0
			for i := range 10 {
				if i%of == index-1 {
					want++
				}
			}
			if got := p.trials(); got != want {
				t.Errorf("shard %d/%d: %d runs, want %d", index, of, got, want)
			}
		}
	}
}

// "hostile": texts that are no plan of a sweep, or no whole one.
func TestPlansThatAreNone(t *testing.T) {
	for _, text := range []string{"", "{", "[]", `{"shard":{"index":2,"of":1}}`, `{"seeds":[-1]}`, `{"points":1}`, "null\x00", "{}", `{"schema":2,"name":"x"}`} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, planFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := MeasureSweep(dir, nil, nil); !errors.Is(err, ErrPlanDamaged) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := MeasureSweep(t.TempDir(), nil, nil); !errors.Is(err, ErrNoSweep) {
		t.Error(err)
	}
}
