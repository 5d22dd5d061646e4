package series

import (
	"errors"
	"strconv"
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// A run with more groups than may be in memory is refused as damaged: no width of windows
// makes them fewer. With many windows of one group, windows become wider.
func TestTooManyCombinations(t *testing.T) {
	const most = 1000
	newFlows := func() (*flows, *group) {
		g := &group{labels: []string{"", ""}, points: map[int64]*point{}}
		return &flows{run: &run{interval: 100, end: 1 << 40}, factor: 1, most: most, groups: map[[2]string]*group{{}: g}, sampled: sampleSums{}}, g
	}
	f, g := newFlows()
	for n := range int64(most + 1) {
		p, err := f.at(g, n*f.run.interval, f.run.interval)
		if err != nil {
			t.Fatal(err)
		}
		p.bytes++
	}
	if f.factor != 2 || len(g.points) != most/2+1 || g.points[0].bytes != 2 || g.points[most/2].bytes != 1 {
		t.Errorf("%d windows are one, %d points", f.factor, len(g.points))
	}
	f, g = newFlows()
	for n := range most {
		key := [5]string{"", "", strconv.Itoa(n)}
		f.sampled[key] = map[int64]sampleSum{0: {samples: 1}}
	}
	f.points = most
	err := f.addSamples(g, 0, f.run.interval, &runfolder.SignalRow{Type: "x"})
	if !errors.Is(err, runfolder.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

// Groups of transfers have numbers if there are several. Connections of jobs and the flows
// of programs are no such groups.
func TestJobsOfTransfers(t *testing.T) {
	connection := runfolder.Flow{Job: 0, Size: 1, Messages: 1}
	program, first, second := runfolder.Flow{}, runfolder.Flow{Job: 1, Size: 1}, runfolder.Flow{Job: 2, Size: 1}
	jobs := map[int32]string{0: "gpt"}
	for _, c := range []struct {
		of   runfolder.Flow
		all  []runfolder.Flow
		want string
	}{
		{connection, []runfolder.Flow{connection, first}, "gpt"},
		{first, []runfolder.Flow{connection, first, first}, ""},
		{first, []runfolder.Flow{first, program}, ""},
		{second, []runfolder.Flow{first, second, program}, "job-2"},
		{program, []runfolder.Flow{first, second, program}, ""},
	} {
		if got := (&flows{}).job(&c.of, c.all, jobs); got != c.want {
			t.Errorf("%+v in %+v: %q, want %q", c.of, c.all, got, c.want)
		}
	}
}
