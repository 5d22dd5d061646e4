package dilation

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/csiglab/csiglab/nodes/emu/wall"
	"github.com/csiglab/csiglab/orchestrator/backend"
)

// A calibration is kept for a day; that of a busy machine, which would choose a bad
// dilation all day, for minutes.
func TestCalibrationIsKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const nodes = 8
	file := calibrationFile(wakers(nodes))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		busy float64
		age  time.Duration
		want bool
	}{
		{0, 23 * time.Hour, true},
		{0, 25 * time.Hour, false},
		{0, -time.Minute, false},
		{0.4, 23 * time.Hour, true},
		{0.5, 9 * time.Minute, true},
		{0.5, 11 * time.Minute, false},
		{8, 11 * time.Minute, false},
	} {
		text, err := json.Marshal(calibration{
			Machine: Machine(), User: os.Geteuid(), At: time.Now().Add(-test.age), Busy: test.busy, Wakers: wakers(nodes),
			Calibration: wall.Calibration{Loads: []wall.Load{{Share: 0.2, Lateness: time.Microsecond}}, FrameHop: time.Microsecond},
		})
		if err == nil {
			err = os.WriteFile(file, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		c, ok := cachedCalibration(nodes)
		if ok != test.want || ok && c.Busy != test.busy {
			t.Errorf("load %v, %v ago: kept %v with load %v, want %v", test.busy, test.age, ok, c.Busy, test.want)
		}
	}
}

// A calibration remembers the load that it began under.
func TestCalibrationNotesTheLoad(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	before := loadPerCPU(loadAverage)
	c, err := calibrate(t.Context(), 2)
	if errors.Is(err, backend.ErrUnavailable) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, ok := cachedCalibration(2)
	if !ok || again.Busy != c.Busy || before > 0 && c.Busy == 0 {
		t.Errorf("cached %v with load %v, calibrated with %v, the machine's was %v", ok, again.Busy, c.Busy, before)
	}
}

func TestLoadPerCPU(t *testing.T) {
	file := filepath.Join(t.TempDir(), "loadavg")
	if got := loadPerCPU(file); got != 0 {
		t.Errorf("no file: %v, want 0", got)
	}
	for text, want := range map[string]float64{
		"3.50 2.00 1.00 4/301 12345\n": 3.5 / float64(runtime.NumCPU()),
		"nothing":                      0,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := loadPerCPU(file); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
