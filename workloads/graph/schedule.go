package graph

import "github.com/csiglab/csiglab/units"

// Schedule is the slots of a job: the times Offset + k Period of the run, at which its
// communication may begin. A Hold that is ready at most Correction before a slot waits for
// it. Otherwise it goes on at once: it is late, and to wait would make the job later still.
// What Period has beyond the time of an iteration lets a late job catch up.
//
// Ranks find the slots from the time alone. They need no message, and a rank that starts
// again finds the same slots. It is plain data; the zero value has no slots.
type Schedule struct {
	Period     units.Duration // 0: there is no schedule
	Offset     units.Duration // not negative, below Period
	Correction units.Duration // not negative, at most Period
}

// Until returns when a Hold that is ready at a time is complete: then, or at the next slot.
func (s *Schedule) Until(now units.Time) units.Time {
	if late := s.Late(now); late > 0 && s.Period-late <= s.Correction {
		return now.Add(s.Period - late)
	}
	return now
}

// Late returns how long after the last slot a time is: not negative, below Period. It is 0
// without a schedule.
func (s *Schedule) Late(now units.Time) units.Duration {
	if s.Period <= 0 {
		return 0
	}
	return ((units.Duration(now)-s.Offset)%s.Period + s.Period) % s.Period
}
