package waits

import (
	"testing"

	"github.com/csiglab/csiglab/metrics/runfolder"
)

// The candidates are the slowest instance of each collective and those that took much longer
// than the fastest one, of the steps that are kept.
func TestSlowInstances(t *testing.T) {
	j := &Job{Info: &runfolder.Job{Steps: 1000, FirstSteps: 1000, Messages: true}, Instances: map[string]*Path{"a": nil, "b": nil}, Fastest: map[string]float64{}, slow: map[string][]*Path{}}
	for i := range 200 {
		j.instance(&runfolder.InstanceRow{Collective: "a", Step: int32(i + 1), EndUS: 100 + float64(i)})
	}
	j.instance(&runfolder.InstanceRow{Collective: "b", EndUS: 10})
	j.instance(&runfolder.InstanceRow{Collective: "a", Step: 2000, EndUS: 90}) // of a step that is not kept
	j.choose()
	all := j.Slow
	if len(all) != maxSlow || all[0].Collective != "a" || all[0].Step != 200 || all[1].Collective != "b" || all[2].Step != 199 || j.Fastest["a"] != 90 || j.Instances["a"].Step != 200 {
		t.Errorf("%d candidates, first %+v %+v %+v, fastest %v", len(all), all[0], all[1], all[2], j.Fastest)
	}
}
