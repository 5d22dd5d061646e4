package experiment

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/csiglab/csiglab/metrics/thinning"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/units"
)

// Thin says how the windows of a lab become longer with their age: auto, none, or steps such
// as "10ms after 300s, 1s after 3600s", as UnmarshalText has checked them. Empty: auto.
type Thin string

const (
	// AutoThin is what auto stands for.
	AutoThin = "10ms after 5min, 1s after 1h, 1min after 24h"
	thinNone = "none"
	mostThin = 8 // steps
	// thinShare is how much older than it is long a window is at least. Figures have some
	// hundred points, so that no window is longer than a point.
	thinShare = 100
)

// autoDisk is what Telemetry.Disk is without a value of its own.
const autoDisk = 128 * units.MB

// DiskLimit returns the most that the windows of a lab take while it is up.
func (t *Telemetry) DiskLimit() units.Size { return cmp.Or(t.Disk, autoDisk) }

// Steps returns the steps of windows of a telemetry interval. Their lengths are made a multiple
// of it, and each a multiple of the one before; those that are no longer than the one before
// are left out.
func (t Thin) Steps(interval units.Duration) (steps []thinning.Step) {
	if t == thinNone {
		return nil
	}
	if t == "" || t == algorithm.Auto {
		t = AutoThin
	}
	list, _ := parseThin(string(t)) // checked before
	for _, s := range list {
		if s.Interval = (s.Interval + interval - 1) / interval * interval; s.Interval > interval {
			steps = append(steps, s)
			interval = s.Interval
		}
	}
	return steps
}

// String returns what UnmarshalText reads.
func (t Thin) String() string { return cmp.Or(string(t), algorithm.Auto) }

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Thin) UnmarshalText(text []byte) error {
	if one := string(text); one == algorithm.Auto || one == thinNone {
		*t = Thin(one)
		return nil
	}
	steps, err := parseThin(string(text))
	if err != nil {
		return err
	}
	var list []string
	for _, s := range steps {
		list = append(list, fmt.Sprintf("%v after %v", s.Interval, s.After))
	}
	*t = Thin(strings.Join(list, ", "))
	return nil
}

func parseThin(text string) (steps []thinning.Step, err error) {
	list := strings.Split(text, ",")
	if len(list) > mostThin {
		return nil, fmt.Errorf("%d steps are more than %d", len(list), mostThin)
	}
	for i, one := range list {
		length, age, ok := strings.Cut(one, " after ")
		if !ok {
			return nil, fmt.Errorf("%q: want auto, none, or lengths of windows and ages, such as %q", text, AutoThin)
		}
		var s thinning.Step
		if s.Interval, err = units.ParseDuration(length); err == nil {
			s.After, err = units.ParseDuration(age)
		}
		switch {
		case err != nil:
			return nil, err
		case s.Interval <= 0 || s.Interval > s.After/thinShare:
			return nil, fmt.Errorf("windows of %v after %v: want more than 0, and at most 1/%d of the age", s.Interval, s.After, thinShare)
		case i > 0 && (s.Interval <= steps[i-1].Interval || s.After <= steps[i-1].After):
			return nil, fmt.Errorf("%v after %v: want longer windows and a greater age than %v after %v", s.Interval, s.After, steps[i-1].Interval, steps[i-1].After)
		}
		steps = append(steps, s)
	}
	return steps, nil
}
