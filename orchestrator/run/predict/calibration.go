package predict

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/csiglab/csiglab/internal/own"
	"github.com/csiglab/csiglab/orchestrator/backend/netns"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/failure"
	"github.com/csiglab/csiglab/orchestrator/plan"
	"github.com/csiglab/csiglab/topologies"
)

// calibration is how well this machine keeps real time with a number of nodes.
type calibration struct {
	Kernel   string            `json:"kernel"`
	CPU      string            `json:"cpu"`
	Cores    int               `json:"cores"`
	User     int               `json:"user"` // decides on the priority that threads get
	At       time.Time         `json:"at"`
	Busy     float64           `json:"busy"`       // load of others when it began, per processor
	Wakers   int               `json:"wakers"`     // threads that paced
	Loads    []calibrationLoad `json:"loads"`      // by rising share, at least one
	FrameHop time.Duration     `json:"frameHopNs"` // CPU time
	RealTime bool              `json:"realTime"`
}

// calibrationLoad is how late timers are under a load.
type calibrationLoad struct {
	Share    float64       `json:"share"`      // of the processors
	Lateness time.Duration `json:"latenessNs"` // 99th percentile
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
var measured = calibration{Loads: []calibrationLoad{{0.2, 95 * time.Microsecond}}, FrameHop: 20 * time.Microsecond}

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
	here := Machine()
	if c.Kernel != here.Kernel || c.CPU != here.CPU || c.Cores != here.Cores || c.User != os.Geteuid() || c.Wakers != wakers(nodes) {
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
	here := Machine()
	c := calibration{
		Kernel: here.Kernel, CPU: here.CPU, Cores: here.Cores, User: os.Geteuid(), At: time.Now().UTC(),
		Busy: busy, Wakers: wakers(nodes), FrameHop: got.FrameHop, RealTime: got.RealTime,
	}
	for _, l := range got.Loads {
		c.Loads = append(c.Loads, calibrationLoad{l.Share, l.Lateness})
	}
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

// Targets of the dilation that auto chooses.
const (
	LatenessTarget = 0.05 // 99th percentile, of the smallest delay
	loadTarget     = 0.5  // of the processors
)

// wakesPerHop is the CPU time of a run per frame-hop, in units of a frame-hop's own
// time: nodes also wake for ports that become free and for timers. Three-flow in real
// time took 12 % of the processors; its frame-hops alone take 6 %.
const wakesPerHop = 2

// dilation returns the smallest dilation, of two digits, under which this machine is
// predicted to keep real time: the run's load is at most loadTarget, and under that
// load timers are late by at most LatenessTarget of the smallest delay.
func (c *calibration) dilation(p *plan.Plan, e Estimate) float64 {
	load, delay := c.load(p, e), p.SmallestDelay().Seconds()
	for step := 1.0; ; step *= 10 {
		for digits := range 90 {
			d := float64(10+digits) / 10 * step
			if load/d <= loadTarget && c.lateness(load/d).Seconds() <= LatenessTarget*delay*d {
				return d
			}
		}
	}
}

// load returns the share of the processors that a run takes at dilation 1. It is
// usually more than 1.
func (c *calibration) load(p *plan.Plan, e Estimate) float64 {
	perSecond := programLoad(p)
	if e.ModelTime > 0 {
		perSecond += float64(e.PacketHops) / e.ModelTime.Seconds()
	}
	return perSecond * c.perFrame()
}

// perFrame returns the share of all processors that a frame-hop a second takes.
func (c *calibration) perFrame() float64 {
	return wakesPerHop * c.FrameHop.Seconds() / float64(runtime.NumCPU())
}

// programLoad bounds the frame-hops that programs cause in a model second: each host
// sends full frames at the rate of its link, over the longest path.
func programLoad(p *plan.Plan) float64 {
	hosts := p.ApplicationHosts()
	if len(hosts) == 0 {
		return 0
	}
	hops, _ := topologies.LongestPath(p.Graph)
	adjacency := p.Graph.Adjacency()
	var perSecond float64
	for _, h := range hosts {
		perSecond += float64(p.Graph.Links[adjacency[h][0].Link].Rate) / 8 / float64(p.ApplicationMTU+experiment.FrameOverhead+p.Format.Overhead) * float64(hops)
	}
	return perSecond
}
