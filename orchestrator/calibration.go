package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/nodes/clock"
	"github.com/csiglab/csiglab/nodes/emu"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// calibration is how well this machine keeps real time.
type calibration struct {
	Kernel   string        `json:"kernel"`
	CPU      string        `json:"cpu"`
	Cores    int           `json:"cores"`
	User     int           `json:"user"` // decides on the priority that threads get
	At       time.Time     `json:"at"`
	Lateness time.Duration `json:"latenessNs"` // 99th percentile of timers
	FrameHop time.Duration `json:"frameHopNs"` // CPU time
	RealTime bool          `json:"realTime"`
}

// calibrationAge is how long a calibration is kept: a machine that others use too
// is not the same for long.
const calibrationAge = 24 * time.Hour

// measured is what datapath.md has of a 2-core machine under load, for
// predictions where nothing was calibrated.
var measured = calibration{Lateness: 95 * time.Microsecond, FrameHop: 20 * time.Microsecond}

// calibrationFile returns where the calibration is kept, or "".
func calibrationFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "csiglab", "calibration.json")
}

// cachedCalibration returns the calibration of this machine and user, if there is
// one that is not too old.
func cachedCalibration() (c calibration, ok bool) {
	text, err := os.ReadFile(calibrationFile())
	if err != nil || json.Unmarshal(text, &c) != nil {
		return c, false
	}
	want := c
	want.Kernel, want.CPU, want.Cores, want.User = kernel(), cpuModel(), runtime.NumCPU(), os.Geteuid()
	age := time.Since(c.At)
	return c, c == want && c.Lateness > 0 && c.FrameHop > 0 && age >= 0 && age < calibrationAge
}

// calibrate returns the calibration of this machine, measured now if need be.
func calibrate(ctx context.Context) (calibration, error) {
	if c, ok := cachedCalibration(); ok {
		return c, nil
	}
	got, err := netns.Calibrate(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return calibration{}, err
		}
		return calibration{}, infrastructure(err)
	}
	c := calibration{
		Kernel: kernel(), CPU: cpuModel(), Cores: runtime.NumCPU(), User: os.Geteuid(), At: time.Now().UTC(),
		Lateness: got.Lateness.Quantile(0.99), FrameHop: got.FrameHop, RealTime: got.RealTime,
	}
	// Without a place to keep it, the next run calibrates again.
	if file := calibrationFile(); file != "" && os.MkdirAll(filepath.Dir(file), 0o755) == nil {
		if text, err := json.Marshal(c); err == nil {
			os.WriteFile(file, append(text, '\n'), 0o644) //nolint:errcheck // see above
		}
	}
	return c, nil
}

// Targets of the dilation that auto chooses.
const (
	latenessTarget = 0.05 // 99th percentile, of the smallest delay
	loadTarget     = 0.5  // of the processors
)

// dilation returns the smallest dilation under which this machine is predicted to
// keep real time: late by no more than latenessTarget of the smallest delay, and
// loaded by no more than loadTarget. It is rounded up to two digits.
func (c *calibration) dilation(p *Plan) float64 {
	late := c.Lateness.Seconds() / (latenessTarget * smallestDelay(p).Seconds())
	hops, length := estimate(p.Graph, p.Workload, p.Path)
	perSecond := applicationLoad(p)
	if length > 0 {
		perSecond += float64(hops) / length.Seconds()
	}
	load := 0.0
	if perSecond > 0 {
		load = perSecond * c.FrameHop.Seconds() / (loadTarget * float64(runtime.NumCPU()))
	}
	d := max(late, load, 1)
	digits := math.Pow(10, max(0, math.Floor(math.Log10(d))-1))
	return math.Ceil(d/digits) * digits
}

// smallestDelay returns the smallest delay that matters: that of a link, or the
// time of a full packet on the fastest one.
func smallestDelay(p *Plan) clock.Duration {
	shortest := clock.Duration(math.MaxInt64)
	for _, l := range p.Graph.Links {
		shortest = min(shortest, l.Delay, l.Rate.Serialisation(p.Path.MTU))
	}
	for _, l := range p.Control {
		shortest = min(shortest, l.Delay)
	}
	return shortest
}

// dilate sets the dilation of all runs and tells the user how long they take.
func (r *runner) dilate(ctx context.Context, jobs []job) error {
	r.wall = &emu.Wall{Dilation: float64(r.set.Base.Wall.Dilation)}
	why := "as given"
	if r.wall.Dilation == 0 {
		c, err := calibrate(ctx)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			r.wall.Dilation = max(r.wall.Dilation, c.dilation(j.plan))
		}
		why = fmt.Sprintf("timers are up to %v late here (p99), a frame-hop takes %v of CPU, the smallest delay is %v",
			c.Lateness.Round(time.Microsecond), c.FrameHop.Round(100*time.Nanosecond), smallestDelay(jobs[0].plan))
		if !c.RealTime {
			why += "; threads get no real-time priority"
		}
	}
	var total time.Duration
	for _, j := range jobs {
		_, length := estimate(j.plan.Graph, j.plan.Workload, j.plan.Path)
		total += r.wall.At(clock.Time(length))
	}
	r.announce(fmt.Sprintf("wall clock: dilation %v, %s; at least %v of wall time", r.wall.Dilation, why, total.Round(100*time.Millisecond)))
	return nil
}

// announce tells the user something before the runs start.
func (r *runner) announce(text string) {
	if r.opts.Announce != nil {
		r.opts.Announce(text)
	}
}
