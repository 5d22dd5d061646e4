package runfolder

import (
	"fmt"
	"io"
	"os"

	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/units"
)

// Thinning says how the windows of a run become longer with their age, so that a run that goes
// on for hours takes a bounded room. The zero value keeps all windows as they are.
type Thinning struct {
	Steps []thinning.Step
	// Bytes is the most that the windows take on disk while the run goes on, in equal parts
	// for each length of windows; the oldest of one length go first. 0: no limit.
	Bytes int64
}

// Thinned is what one run's windows have become (Run.Thinned).
type Thinned struct {
	UntilUS    float64 `json:"untilUs"`    // windows that begin before, and not before that of the entry before this one,
	IntervalUS float64 `json:"intervalUs"` // have this length; 0: they are left out
}

// LongestWindowUS returns the length of the longest windows that a run of the folder has. Bins
// that are a multiple of it have whole windows.
func (m *Manifest) LongestWindowUS() float64 {
	longest := m.IntervalUS
	for i := range m.Runs {
		for _, t := range m.Runs[i].Thinned {
			longest = max(longest, t.IntervalUS)
		}
	}
	return longest
}

// segmentsPerTier is into how many files the windows of one length are cut at least, of which
// the oldest is removed at a time.
const segmentsPerTier = 16

// readEach is after how many records aged.reading is called.
const readEach = 1 << 14

// aged keeps the windows of a run in tiers: as they come, and merged to each longer length. A
// tier forgets what is older than it keeps, or what its room does not hold, and the next tier
// still has it. All writing is appending: segments are files of a tier, by the time at which
// their records came, each a part without totals.
type aged struct {
	to    *RunWriter
	tiers []*tier
	now   units.Time // beginning of the latest window

	reading func(read, all int64) // nil: nobody asks
}

type tier struct {
	of       *aged
	interval units.Duration // of windows; 0: as they come
	keep     units.Duration // 0: for ever
	bytes    int64          // the most; 0: no limit
	number   int
	// from is where the tier begins: what began before is gone. It is a multiple of the
	// interval of the next tier.
	from     units.Time
	next     *tier            // nil: of the last
	merge    *thinning.Merger // into next
	segments []*segment       // by age, the oldest first
	made     int              // segments, also those that are gone
	err      error
}

// segment is one file of a tier.
type segment struct {
	name    string
	part    *partWriter
	begun   units.Time // aged.now when the first records came
	last    units.Time // and the last
	records int64
}

func newAged(r *RunWriter, t Thinning) *aged {
	a := &aged{to: r, tiers: []*tier{{}}}
	for _, s := range t.Steps {
		a.tiers[len(a.tiers)-1].keep = s.After
		a.tiers = append(a.tiers, &tier{interval: s.Interval})
	}
	for i, one := range a.tiers {
		one.of, one.number, one.bytes = a, i, t.Bytes/int64(len(a.tiers))
		if i+1 < len(a.tiers) {
			one.next = a.tiers[i+1]
			one.merge = thinning.New(one.next.interval, one.next)
		}
	}
	return a
}

// write keeps windows.
func (a *aged) write(windows *metrics.Batch) error {
	a.now = max(a.now, thinning.Latest(windows))
	a.tiers[0].Consume(windows)
	for _, t := range a.tiers {
		if t.err == nil {
			t.err = t.forget()
		}
		if t.err != nil {
			return t.err
		}
	}
	return nil
}

// Consume implements metrics.Consumer: it keeps windows of the tier's length.
func (t *tier) Consume(b *metrics.Batch) {
	if t.err == nil {
		t.err = t.append(b)
	}
	if t.merge != nil {
		t.merge.Consume(b)
	}
}

func (t *tier) append(b *metrics.Batch) error {
	var s *segment
	if n := len(t.segments); n > 0 {
		s = t.segments[n-1]
		full := t.bytes > 0 && s.part.size >= t.bytes/segmentsPerTier
		old := t.keep > 0 && t.of.now.Sub(s.begun) > t.keep/segmentsPerTier
		if full || old {
			if err := s.part.finish(); err != nil {
				return err
			}
			s = nil
		}
	}
	if s == nil {
		w, r := t.of.to.to, t.of.to
		s = &segment{name: r.partName(fmt.Sprintf("-%d-%d%s", t.number, t.made, begunSuffix)), begun: t.of.now}
		s.part = newPartWriter(func() (*os.File, error) { return w.create(s.name) })
		if err := s.part.open(); err != nil {
			return err
		}
		t.segments = append(t.segments, s)
		t.made++
	}
	s.last = t.of.now
	s.records += int64(b.Len())
	return s.part.windows(b)
}

// forget removes the oldest segments while they are too old, or take too much room.
func (t *tier) forget() error {
	size := int64(0)
	for _, s := range t.segments {
		size += s.part.size
	}
	for len(t.segments) > 1 {
		s := t.segments[0]
		tooOld := t.keep > 0 && t.of.now.Sub(s.last) > t.keep
		if !tooOld && (t.bytes == 0 || size <= t.bytes) {
			return nil
		}
		size -= s.part.size
		t.segments = t.segments[1:]
		t.begin(s.last)
		if err := t.remove(s); err != nil {
			return err
		}
	}
	return nil
}

// begin has the tier begin after a moment. A finer tier does not go back further.
func (t *tier) begin(after units.Time) {
	t.from = max(t.from, after+1)
	if t.next != nil {
		unit := units.Time(t.next.interval)
		t.from = (t.from + unit - 1) / unit * unit
	}
	if t.number > 0 {
		if finer := t.of.tiers[t.number-1]; finer.from < t.from {
			finer.begin(t.from - 1)
		}
	}
}

func (t *tier) remove(s *segment) error {
	s.part.close() //nolint:errcheck // it is of no use any more
	return t.of.to.to.root.Remove(s.name)
}

// end writes what is still being merged, and the files to their ends.
func (a *aged) end() error {
	for _, t := range a.tiers {
		if t.merge != nil {
			t.merge.Flush()
		}
		if t.err != nil {
			return t.err
		}
		for _, s := range t.segments {
			if err := s.part.finish(); err != nil {
				return err
			}
		}
	}
	return nil
}

// thinned says what has become of the windows; nil if all are as they came.
func (a *aged) thinned() (list []Thinned) {
	for i := len(a.tiers) - 1; i >= 0; i-- {
		t := a.tiers[i]
		if t.next == nil && t.from > 0 {
			list = append(list, Thinned{UntilUS: units.Duration(t.from).Microseconds()})
		}
		if t.next != nil && t.from > t.next.from {
			list = append(list, Thinned{units.Duration(t.from).Microseconds(), t.next.interval.Microseconds()})
		}
	}
	return list
}

// records returns how many records the files have.
func (a *aged) records() (n int64) {
	for _, t := range a.tiers {
		for _, s := range t.segments {
			n += s.records
		}
	}
	return n
}

// each calls do with the windows, the longest first, and with their length, 0 of those as they
// came. A batch is valid until do returns.
func (a *aged) each(do func(b *metrics.Batch, interval units.Duration) error) error {
	until := make([]units.Time, len(a.tiers))
	for i := range a.tiers {
		until[i] = units.Never
		if i > 0 {
			until[i] = a.tiers[i-1].from
		}
	}
	read, all := int64(0), a.records()
	for i := len(a.tiers) - 1; i >= 0; i-- {
		t := a.tiers[i]
		for _, s := range t.segments {
			err := a.read(s, func(b *metrics.Batch) error {
				if n := int64(b.Len()); n > 0 {
					if read == 0 || read/readEach != (read+n)/readEach {
						a.say(read+n, all)
					}
					read += n
				}
				thinning.Within(b, t.from, until[i])
				return do(b, t.interval)
			})
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	a.say(all, all)
	return nil
}

func (a *aged) say(read, all int64) {
	if a.reading != nil {
		a.reading(read, all)
	}
}

// read calls do with the batches of a segment that has ended.
func (a *aged) read(s *segment, do func(b *metrics.Batch) error) error {
	file, err := a.to.to.root.Open(s.name)
	if err != nil {
		return err
	}
	defer file.Close() // opened for reading
	if _, _, err = readPart(file, nil, do); err == io.EOF {
		return nil
	}
	return err
}

// discard removes all files.
func (a *aged) discard() {
	for _, t := range a.tiers {
		for _, s := range t.segments {
			t.remove(s) //nolint:errcheck // as that of the part: Stopped.Resume removes it otherwise
		}
		t.segments = nil
	}
}
