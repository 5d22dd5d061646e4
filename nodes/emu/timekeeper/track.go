package timekeeper

import (
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
)

// track is what the probes to another part have shown.
type track struct {
	trips   wall.Lateness // round trips
	least   time.Duration
	samples []Sample      // of the window
	since   time.Duration // when it began
	own     time.Duration // the start of the run on this machine's clock, when the last answer came
	start   time.Duration // and on that of the part, as the answer says
	worst   Offset        // of the clocks of the run: how far they were apart when that was most certain
	windows int
}

// mostSamples bounds a window: before the start none is closed.
const mostSamples = 4096

// add adds an answer. own is the start of the run on this machine's clock, 0 before it is
// known. At the end of a window it returns how far the other part is ahead in the run's
// time, and whether it is, beyond what the round trips leave open.
func (t *track) add(a answer, own time.Duration) (ahead time.Duration, drifted bool) {
	trip := a.RoundTrip()
	t.trips.Add(trip)
	if t.least == 0 || trip < t.least {
		t.least = trip
	}
	if len(t.samples) == mostSamples {
		t.samples = append(t.samples[:0], t.samples[mostSamples/2:]...)
	}
	t.samples = append(t.samples, a.Sample)
	t.own, t.start = own, a.start
	switch {
	case own == 0 || a.start == 0:
		return 0, false
	case t.since == 0:
		t.begin(a.Returned)
		return 0, false
	case a.Returned-t.since < window:
		return 0, false
	}
	return t.close()
}

// begin begins a window at a time of this machine's clock.
func (t *track) begin(at time.Duration) { t.samples, t.since = t.samples[:0], at }

// close closes a window with at least one sample.
func (t *track) close() (ahead time.Duration, drifted bool) {
	at := t.samples[len(t.samples)-1].Returned
	offset, _ := Estimate(t.samples, at)
	offset.Ahead -= t.start - t.own
	if t.windows == 0 || offset.worseThan(t.worst) {
		t.worst = offset
	}
	t.windows++
	t.begin(at)
	return offset.Ahead, offset.Ahead.Abs() > offset.Error
}

// worseThan reports whether clocks were further apart than by another estimate, for certain;
// of two estimates that leave open whether they were apart at all, the better one is worse.
func (o Offset) worseThan(other Offset) bool {
	certain, before := max(0, o.Ahead.Abs()-o.Error), max(0, other.Ahead.Abs()-other.Error)
	return certain > before || certain == before && o.Error < other.Error
}

// Trip is the way to another part and back, and its clock.
type Trip struct {
	Peer               int
	Least, Median, P99 time.Duration
	// Offset is how far the part was ahead of this one in the run's time, in wall time, when
	// they were furthest apart for certain.
	Offset Offset
}

// Trips returns what is known of the ways to the parts that this one sends probes to: those
// after it. It is called after Close.
func (k *Keeper) Trips() (trips []Trip) {
	for _, p := range k.peers {
		if p == nil || p.trip == nil || p.trip.trips.Events == 0 {
			continue
		}
		t := p.trip
		if len(t.samples) > 0 && t.own != 0 && t.start != 0 {
			t.close()
		}
		trips = append(trips, Trip{Peer: p.part, Least: t.least, Median: t.trips.Quantile(0.5), P99: t.trips.Quantile(0.99), Offset: t.worst})
	}
	return trips
}
