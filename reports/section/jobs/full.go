package jobs

import (
	"github.com/csiglab/csiglab/metrics"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/reports/phrases"
	"github.com/csiglab/csiglab/reports/section"
	"github.com/csiglab/csiglab/reports/words"
)

// Full is what the steps of a job say of the real job (docs/reference/metrics.md#jobs).
type Full struct {
	Scale        float64 `json:"scale"`                  // 1: it is the real job
	IterationUS  float64 `json:"iterationUs"`            // of the real job
	LatencyShare float64 `json:"latencyShare,omitempty"` // of a scaled step
	MFU          float64 `json:"mfu,omitempty"`          // 0: not known
}

// newFull returns nil if the steps of a job say nothing of another job.
func newFull(medians map[string]float64, info *runfolder.Job) *Full {
	f := Full{Scale: info.TimeScale, IterationUS: medians["full_iteration_us."+info.Name], LatencyShare: medians["latency_share."+info.Name], MFU: medians["mfu."+info.Name]}
	if f.IterationUS == 0 {
		f.IterationUS = medians["iteration_us.mean."+info.Name]
		if f.MFU == 0 {
			return nil
		}
	}
	return &f
}

// fullScale lists what scaled steps mean, nil if no job has a scale or counted operations.
func (s *Section) fullScale() *section.Table {
	t := &section.Table{Label: "At full scale", Columns: phrases.Columns("Variant", "Job", "#Scale", "#Iteration of the real job", "#MFU", "#Latency in the scaled one")}
	decides := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Full == nil {
			continue
		}
		utilisation, latency := words.None, words.None
		if j.Full.MFU > 0 {
			utilisation = words.Percent(j.Full.MFU)
		}
		if j.Full.LatencyShare > 0 {
			latency = words.Percent(j.Full.LatencyShare)
		}
		decides = decides || j.Full.LatencyShare > metrics.LatencyDecides
		t.Rows = append(t.Rows, section.Row{Variant: j.Variant, Cells: phrases.Cells(j.Variant, j.Name, words.Number(j.Full.Scale), words.Short(j.Full.IterationUS), utilisation, latency)})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	t.Note = "The scale shrinks compute and messages, not latency: a step of the real job takes the latency of the scaled one plus the rest over the scale. MFU: operations of the model over those that the GPUs could do in this time. Medians over the seeds."
	if decides {
		t.Note += " Where latency is more than " + words.Percent(metrics.LatencyDecides) + ", it decides, and the step says little of the real job; a larger scale or smaller delays help."
	}
	phrases.Same(t, "Job", "Scale")
	phrases.Bound(t, "jobs", "metrics.parquet")
	return t
}
