package emu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/node/nodetest"
	"github.com/csiglab/csiglab/units"
)

// Interfaces of hardware pad short frames with zeros, behind the trailer.
func TestTrailerBehindPadding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for n := 14; n < 80; n++ {
		for _, sequence := range []int64{1, 255, 256, 1 << 32, 1 << 56} {
			at := units.Time(random.Int64())
			f := emu.AppendTrailer(nodetest.RawFrame(0, 5, n, random), 99, at, sequence)
			for len(f) < 60 {
				if got, ok := emu.ReadTrailer(f); !ok || got.Arrival != at {
					t.Fatalf("%d B, padded to %d: arrival %v, %v, want %v", n, len(f), got.Arrival, ok, at)
				}
				f = append(f, 0)
			}
			if got, ok := emu.ReadTrailer(f); !ok || got.Arrival != at {
				t.Fatalf("%d B, padded to %d: arrival %v, %v, want %v", n, len(f), got.Arrival, ok, at)
			}
			if _, ok := emu.ReadTrailer(append(f, 1)); ok {
				t.Fatalf("%d B: a trailer before a byte that is no padding", n)
			}
			if _, ok := emu.ReadTrailer(f[:n]); ok && n >= 24 {
				t.Fatalf("%d B: a trailer where there is none", n)
			}
		}
	}
}
