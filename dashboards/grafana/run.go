package grafana

import (
	"fmt"
	"time"

	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/metrics/series"
)

// Run is a run folder that the data source has loaded.
type Run struct {
	Name     string // the value of the label run
	From, To time.Time
}

// longestUS is the longest time that an axis shows, in us: 31 years.
const longestUS = 1e15

// ReadRun reads when a run folder is shown, at the times that csiglab serve gives it: model
// time since series.Origin, stretched, up to the end of its last transfer, step or measuring
// window. name is the value of the label run, and stretch 0 is series.StretchOf.
//
// The error wraps runfolder.ErrDamaged when a table cannot be read.
func ReadRun(f *runfolder.Folder, name string, stretch int) (Run, error) {
	end := f.Manifest.Measure.ToUS
	for row, err := range f.Instances() {
		if err != nil {
			return Run{}, err
		}
		end = max(end, row.EndUS)
	}
	for row, err := range f.Phases() {
		if err != nil {
			return Run{}, err
		}
		for _, at := range []*float64{row.SenderDoneUS, row.ReceiverDoneUS} {
			if at != nil {
				end = max(end, *at)
			}
		}
	}
	if stretch == 0 {
		stretch = series.StretchOf(&f.Manifest)
	}
	length := end * float64(stretch)
	if !(end >= 0 && length <= longestUS) {
		return Run{}, fmt.Errorf("%w: the run ends at %v us", runfolder.ErrDamaged, end)
	}
	return Run{name, series.Origin, series.Origin.Add(time.Duration(length * float64(time.Microsecond)))}, nil
}
