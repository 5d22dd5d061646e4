package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/units"
)

// Residence is from a packet's first bit in, at the rate at which the peer sent it: not at
// the rate of the port's own direction, and not at a rate that the peer had before or after.
func TestResidenceByTheRateOfThePeer(t *testing.T) {
	const nominal, delay = 100 * units.Gbps, units.Microsecond
	rnd, seed := random()
	ambiguous, total := 0, 0
	for round := range 60 {
		type change struct {
			at   units.Time
			rate units.Rate
		}
		var changes []change
		for range 4 { // slow and back, twice; the second time within the time of a packet
			at := units.Time(rnd.Int64N(int64(100 * units.Microsecond)))
			if n := len(changes); n > 0 {
				at = changes[n-1].at.Add(units.Duration(1 + rnd.Int64N(int64(40*units.Microsecond))))
			}
			rate := nominal
			if len(changes)%2 == 0 {
				rate = units.Rate(2+rnd.IntN(60)) * units.Gbps
			}
			changes = append(changes, change{at, rate})
		}
		type packet struct {
			arrives units.Time
			takes   units.Duration
			size    int
			first   bool // after a change to a faster rate, from an idle peer: see arrivals.receive
		}
		var sent []packet
		line, next, now, free := units.NewSerialiser(nominal), 0, units.Time(0), units.Time(0)
		for now < units.Time(300*units.Microsecond) {
			idle := rnd.IntN(3) == 0
			if now = free; idle {
				now = now.Add(units.Duration(rnd.Int64N(int64(4 * units.Microsecond))))
			}
			quicker := false
			for ; next < len(changes) && changes[next].at <= now; next++ {
				line = units.NewSerialiser(changes[next].rate)
				quicker = true
			}
			size := 64 + rnd.IntN(4087)
			free = line.Departure(now, units.Size(size))
			sent = append(sent, packet{free.Add(delay), free.Sub(now), size, quicker && idle})
		}
		cfg := nanoseconds()
		dataLimit(&cfg, units.GB)
		cfg.Ports[1].Rate = 800 * units.Gbps
		r := newRig(t, cfg)
		r.sw.SetRate(0, 3, units.Gbps) // of the other direction: of no matter here
		applied, waits := 0, units.Time(0)
		for i, p := range sent {
			for ; applied < len(changes) && changes[applied].at.Add(delay) <= p.arrives; applied++ {
				r.sw.SetArrivalRate(changes[applied].at.Add(delay), 3, changes[applied].rate)
			}
			tagged := r.tagged(1, p.size, csig.Delay)
			r.receive(p.arrives, 3, tagged)
			starts := max(p.arrives, waits)
			waits = starts.Add(units.Duration(p.size) * 10)
			r.Run(waits - 1)
			total++
			tag, err := r.domain.ParseTag(tagged.Tag())
			low := uint32((starts.Sub(p.arrives) + p.takes - 1) / units.Nanosecond) // a remainder is a picosecond
			high := uint32((starts.Sub(p.arrives) + p.takes) / units.Nanosecond)
			switch {
			case err != nil:
				t.Fatal(err)
			case tag.Signal >= low && tag.Signal <= high:
			case p.first:
				ambiguous++
			default:
				t.Fatalf("seed %d, round %d, packet %d of %d B that arrived at %v: the tag says %d ns, want %d; changes %+v", seed, round, i, p.size, p.arrives, tag.Signal, high, changes)
			}
		}
	}
	if ambiguous > 60 || total < 60*50 {
		t.Errorf("seed %d: the rates of %d of %d packets were taken for others, want at most one in a round", seed, ambiguous, total)
	}
}
