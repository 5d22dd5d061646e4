package emu_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

func rawFrame(from, to, n int, random *rand.Rand) []byte {
	a, b := wire.MAC(to, 0), wire.MAC(from, 0)
	f := slices.Concat(a[:], b[:], []byte{0x90, 0x00})
	for len(f) < n {
		f = append(f, byte(random.Uint32()))
	}
	return f
}

// Interfaces of hardware pad short frames with zeros, behind the trailer.
func TestTrailerBehindPadding(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for n := 14; n < 80; n++ {
		for _, sequence := range []int64{1, 255, 256, 1 << 32, 1 << 56} {
			at := units.Time(random.Int64())
			f := emu.AppendTrailer(rawFrame(0, 5, n, random), 99, at, sequence)
			for len(f) < 60 {
				if got, ok := emu.Arrival(f); !ok || got != at {
					t.Fatalf("%d B, padded to %d: arrival %v, %v, want %v", n, len(f), got, ok, at)
				}
				f = append(f, 0)
			}
			if got, ok := emu.Arrival(f); !ok || got != at {
				t.Fatalf("%d B, padded to %d: arrival %v, %v, want %v", n, len(f), got, ok, at)
			}
			if _, ok := emu.Arrival(append(f, 1)); ok {
				t.Fatalf("%d B: a trailer before a byte that is no padding", n)
			}
			if _, ok := emu.Arrival(f[:n]); ok && n >= 24 {
				t.Fatalf("%d B: a trailer where there is none", n)
			}
		}
	}
}
