package dilation

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
)

// calibration is how well a machine keeps real time with a number of nodes.
type calibration struct {
	wall.Calibration
	runfolder.Machine
	User   int // decides on the priority that threads get
	At     time.Time
	Busy   float64 // load of others when it began, per processor
	Wakers int     // threads that paced
}

// How long a calibration is valid. The load of a machine that others use too changes,
// and a calibration that was measured while the machine was busy is valid for less
// time.
const (
	calmAge  = 24 * time.Hour
	busyAge  = 10 * time.Minute
	busyLoad = 0.5 // per processor, of a machine that is busy
)

// fresh reports whether the calibration is still valid.
func (c *calibration) fresh(now time.Time) bool {
	age, most := now.Sub(c.At), calmAge
	if c.busy() {
		most = busyAge
	}
	return age >= 0 && age < most
}

func (c *calibration) busy() bool { return c.Busy >= busyLoad }

// loadAverage is how many threads ran, or wanted to, over about the last minute
// (proc_loadavg(5)).
const loadAverage = "/proc/loadavg"

// loadPerCPU returns the load average in a file of that format, per processor, and 0
// if it has none.
func loadPerCPU(file string) float64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	var load float64
	if _, err := fmt.Sscan(string(text), &load); err != nil {
		return 0
	}
	return load / float64(runtime.NumCPU())
}

// measured are the figures of a machine whose 2 cores are busy: the 99th percentile of lateness at
// intervals of 100 us, by clock_nanosleep with SCHED_FIFO (time.Sleep: 2.8 ms).
// Predictions use them if there is no calibration.
var measured = calibration{Calibration: wall.Calibration{Loads: []wall.Load{{Share: 0.2, Lateness: 95 * time.Microsecond}}, FrameHop: 20 * time.Microsecond}}

// mostWakers bounds the threads of a calibration; more threads change the result
// little.
const mostWakers = 64

// wakers returns how many threads a calibration for a number of nodes uses: a power
// of two, so that few calibrations serve all fabrics.
func wakers(nodes int) int {
	n := 2
	for n < min(nodes, mostWakers) {
		n *= 2
	}
	return n
}

// calibrationFile returns the file of the calibration, or "" if there is no place for
// it.
func calibrationFile(wakers int) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "csiglab", fmt.Sprintf("calibration-%d.json", wakers))
}

// cachedCalibration returns the cached calibration of this machine and user for a
// number of nodes, if there is one that is not too old.
func cachedCalibration(nodes int) (c calibration, ok bool) {
	text, err := os.ReadFile(calibrationFile(wakers(nodes)))
	if err != nil || json.Unmarshal(text, &c) != nil {
		return c, false
	}
	if c.Machine != Machine() || c.User != os.Geteuid() || c.Wakers != wakers(nodes) {
		return c, false
	}
	sound := len(c.Loads) > 0 && c.FrameHop > 0
	for _, l := range c.Loads {
		sound = sound && l.Lateness > 0 && l.Share > 0
	}
	return c, sound && c.fresh(time.Now())
}

// calibrate returns the calibration of this machine for a number of nodes. It measures
// if no valid calibration is cached.
func calibrate(ctx context.Context, nodes int) (calibration, error) {
	if c, ok := cachedCalibration(nodes); ok {
		return c, nil
	}
	busy := loadPerCPU(loadAverage) // before the calibration's own threads count
	got, err := netns.Calibrate(ctx, wakers(nodes))
	if err != nil {
		if ctx.Err() != nil {
			return calibration{}, err
		}
		return calibration{}, failure.Infrastructure(err)
	}
	c := calibration{Calibration: *got, Machine: Machine(), User: os.Geteuid(), At: time.Now().UTC(), Busy: busy, Wakers: wakers(nodes)}
	// Without a place to keep it, the next run calibrates again.
	if file := calibrationFile(c.Wakers); file != "" && os.MkdirAll(filepath.Dir(file), 0o755) == nil {
		if text, err := json.Marshal(c); err == nil {
			own.WriteFile(file, append(text, '\n'), 0o644) //nolint:errcheck // see above
		}
	}
	return c, nil
}

// lateness returns how late timers are when nodes take a share of the processors:
// interpolated between the loads that were measured, constant beyond them.
func (c *calibration) lateness(share float64) time.Duration {
	last := c.Loads[0]
	for _, l := range c.Loads {
		if share < l.Share {
			if l.Share > last.Share {
				part := (share - last.Share) / (l.Share - last.Share)
				return last.Lateness + time.Duration(max(part, 0)*float64(l.Lateness-last.Lateness))
			}
			return last.Lateness
		}
		last = l
	}
	return last.Lateness
}
