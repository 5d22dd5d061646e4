package predict

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/csiglab/csiglab/internal/own"
)

// costsFile is the file of the costs, in csiglab's folder of the user's cache.
const costsFile = "costs.json"

// How long costs are valid, as calmAge and busyAge.
const (
	costsAge     = 7 * 24 * time.Hour
	busyCostsAge = time.Hour
)

// measuredCosts are Costs with what they are valid for.
type measuredCosts struct {
	CPU     string    `json:"cpu"`
	Cores   int       `json:"cores"`
	Kernel  string    `json:"kernel"`
	Program string    `json:"program"` // version, size and time of csiglab's file
	At      time.Time `json:"at"`
	Busy    float64   `json:"busy"` // load of others when it began, per processor
	Costs   Costs     `json:"costs"`
}

// Meter gets the costs of this machine: from the user's cache, or by measuring them. The
// zero value knows no csiglab that it could measure, and has the Reference.
type Meter struct {
	Version string       // of this csiglab
	Measure Command      // csiglab with the command that prints Measure's costs as JSON; nil: there is none
	Say     func(string) // tells the user that a measurement begins; may be nil
	Anew    bool         // measure even if the cache has costs
	// Worth is the predicted CPU time from which on Predict takes the time to measure.
	Worth time.Duration

	late bool // there is no time to measure
}

var errLate = errors.New("the prediction has the figures of another machine; csiglab validate --calibrate measures this one")

// without returns a Meter that has the cache and does not measure.
func (m *Meter) without() *Meter {
	other := *m
	other.late = true
	return &other
}

// costs returns the costs of this machine. If they cannot be measured it returns the
// Reference with the reason, or with ctx's error.
func (m *Meter) costs(ctx context.Context) (Costs, error) {
	if m == nil || m.Measure == nil {
		return Reference, nil
	}
	if c, ok := m.cached(); ok && !m.Anew {
		return c, nil
	}
	if m.late {
		return Reference, errLate
	}
	if m.Say != nil {
		m.Say("measuring how fast this machine is, once for this build of csiglab; it takes about 2 s")
	}
	busy := loadPerCPU(loadAverage)
	var out, wrong bytes.Buffer
	cmd := m.Measure(ctx)
	cmd.Stdout, cmd.Stderr = &out, &wrong
	err := cmd.Run()
	var c Costs
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &c)
	}
	switch {
	case ctx.Err() != nil:
		return Reference, ctx.Err()
	case err != nil:
		return Reference, fmt.Errorf("the costs of this machine could not be measured, those of another one serve: %w: %s", err, strings.TrimSpace(wrong.String()))
	case !c.sound():
		return Reference, fmt.Errorf("the costs that were measured make no sense, those of another machine serve: %s", strings.TrimSpace(out.String()))
	}
	m.keep(measuredCosts{At: time.Now().UTC(), Busy: busy, Costs: c})
	return c, nil
}

// sound reports whether costs can be used.
func (c *Costs) sound() bool {
	sound := c.Hop > 0 && c.Tags >= 1 && c.Start > 0 && c.Base > 0 && len(c.Growth) > 1
	for i, g := range c.Growth {
		sound = sound && g.Factor >= 1 && g.WorkingSet > 0 && (i == 0 || g.WorkingSet > c.Growth[i-1].WorkingSet)
	}
	for _, cost := range []float64{c.Packet, c.Row, c.Port, c.TagPort, c.Flow, c.EndRow, c.TableMem, c.PortMem, c.TagPortMem, c.FlowMem} {
		sound = sound && cost >= 0
	}
	return sound
}

// file returns the file of the costs, or "" if there is no place for it.
func (m *Meter) file() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "csiglab", costsFile)
}

// cached returns the costs in the cache, if they are of this machine and program and not
// too old.
func (m *Meter) cached() (c Costs, ok bool) {
	text, err := os.ReadFile(m.file())
	var got measuredCosts
	if err != nil || json.Unmarshal(text, &got) != nil {
		return c, false
	}
	here, age := m.here(), time.Since(got.At)
	if got.CPU != here.CPU || got.Cores != here.Cores || got.Kernel != here.Kernel || got.Program != here.Program || here.Program == "" {
		return c, false
	}
	most := costsAge
	if got.Busy >= busyLoad {
		most = busyCostsAge
	}
	return got.Costs, age >= 0 && age < most && got.Costs.sound()
}

// here returns what costs that are measured now are valid for.
func (m *Meter) here() measuredCosts {
	machine := Machine()
	program, err := programKey(m.Version)
	if err != nil {
		program = ""
	}
	return measuredCosts{CPU: machine.CPU, Cores: runtime.NumCPU(), Kernel: machine.Kernel, Program: program}
}

// keep writes costs into the cache. Without a place to keep them, the next prediction
// measures again.
func (m *Meter) keep(c measuredCosts) {
	here := m.here()
	c.CPU, c.Cores, c.Kernel, c.Program = here.CPU, here.Cores, here.Kernel, here.Program
	file := m.file()
	text, err := json.MarshalIndent(c, "", "  ")
	if file == "" || err != nil || os.MkdirAll(filepath.Dir(file), 0o755) != nil {
		return
	}
	own.WriteFile(file, append(text, '\n'), 0o644) //nolint:errcheck // see above
}
