package garbage

import (
	"os"
	"os/exec"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/csiglab/csiglab/internal/checkout"
)

func TestPercentOf(t *testing.T) {
	const mega = 1 << 20
	for _, c := range []struct {
		size, live uint64
		want       int
	}{
		{24 * mega, 0, 600}, {24 * mega, 2 * mega, 600}, {24 * mega, 6 * mega, 300}, {24 * mega, 10 * mega, 140},
		{24 * mega, 12 * mega, 100}, {24 * mega, 20 * mega, 100}, {24 * mega, 4000 * mega, 100}, {4 * mega, 0, 100}, {4 * mega, mega, 100},
	} {
		if got := percentOf(c.size, c.live); got != c.want {
			t.Errorf("percentOf(%d, %d) = %d, want %d", c.size, c.live, got, c.want)
		}
		if next := c.live + c.live*uint64(percentOf(c.size, c.live))/100; next > max(c.size, 2*c.live) {
			t.Errorf("with %d bytes in use the heap would grow to %d, want %d", c.live, next, max(c.size, 2*c.live))
		}
	}
}

// allocate makes garbage, of which so many bytes are in use at a time, and returns how many
// collections it took.
func allocate(live, all int) (collections uint64) {
	read := func() uint64 {
		s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
		metrics.Read(s)
		return s[0].Value.Uint64()
	}
	before := read()
	used := make([][]byte, live>>16)
	for i := range all >> 16 {
		used[i%len(used)] = make([]byte, 1<<16)
		if i%64 == 63 { // 4 MB: on a busy machine the collector has its turn too
			time.Sleep(time.Millisecond)
		}
	}
	return read() - before
}

// A process of its own: the collector of this one is that of other tests too.
func TestFloor(t *testing.T) {
	checkout.SkipSlowRace(t)
	if of := os.Getenv("FLOOR"); of != "" {
		if of == "set" {
			Floor(128 << 20)
		}
		few, many := allocate(1<<20, 512<<20), allocate(128<<20, 512<<20)
		t.Logf("few=%t many=%t", few < 10, many < 20)
		return
	}
	for _, c := range []struct{ floor, gogc, want string }{
		{"set", "", "few=true many=true"}, {"unset", "", "few=false many=true"}, {"set", "100", "few=false many=true"},
	} {
		of := exec.Command(os.Args[0], "-test.run=^TestFloor$", "-test.v")
		of.Env = append(os.Environ(), "FLOOR="+c.floor, "GOGC="+c.gogc)
		if text, err := of.CombinedOutput(); err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("floor %s, GOGC=%s: %v: %s, want %s", c.floor, c.gogc, err, text, c.want)
		}
	}
}

// A bound holds below a floor, whatever collections there are, and is over when it ends.
func TestBound(t *testing.T) {
	if of := os.Getenv("BOUND"); of != "" {
		if of == "floor" {
			Floor(128 << 20)
		}
		percent := func() uint64 {
			s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			metrics.Read(s)
			return s[0].Value.Uint64()
		}
		before := percent()
		end := Bound(30)
		allocate(160<<20, 512<<20)
		during := percent()
		end()
		t.Logf("during=%d over=%t", during, percent() == before || of == "floor" && percent() > 30)
		return
	}
	for _, c := range []struct{ floor, gogc, want string }{
		{"floor", "", "during=30 over=true"}, {"none", "", "during=30 over=true"}, {"none", "20", "during=20 over=true"}, {"none", "off", "during=18446744073709551615 over=true"},
	} {
		of := exec.Command(os.Args[0], "-test.run=^TestBound$", "-test.v")
		of.Env = append(os.Environ(), "BOUND="+c.floor, "GOGC="+c.gogc)
		if text, err := of.CombinedOutput(); err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("floor %s, GOGC=%s: %v: %s, want %s", c.floor, c.gogc, err, text, c.want)
		}
	}
}
