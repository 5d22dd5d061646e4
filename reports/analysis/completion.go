package analysis

import (
	"github.com/csiglab/csiglab/metrics/runfolder"
)

// Completion holds the completion times of one flow: from its start to the
// arrival of the ACK that completes it.
type Completion struct {
	Flow      string  `json:"flow"`
	SizeBytes int64   `json:"sizeBytes"`
	Variants  []Times `json:"variants"` // by variant; of a variant without the flow all is 0
}

// Times are the completion times of a flow in one variant, in microseconds.
type Times struct {
	Seeds    Spread   `json:"seeds"`              // runs in which the flow completed
	Open     int      `json:"open"`               // runs that ended before it completed
	MedianUS *float64 `json:"medianUs,omitempty"` // over the seeds; nil unless it completed in all
}

// completion reads the completion times of flows.
func completion(f *runfolder.Folder, flows []runfolder.Flow) ([]Completion, error) {
	variant := map[string]int{}
	for i, v := range f.Manifest.Variants {
		variant[v.Name] = i
	}
	type times struct {
		us   []float64
		open int
	}
	index := map[string]int{}
	all := []Completion{}
	for _, flow := range flows {
		if !ofPrograms(flow) {
			index[flow.Name] = len(all)
			all = append(all, Completion{Flow: flow.Name, SizeBytes: flow.Size, Variants: make([]Times, len(variant))})
		}
	}
	found := make([]times, len(all)*len(variant))
	for row, err := range f.Phases() {
		if err != nil {
			return nil, err
		}
		i, ok := index[row.FlowName]
		v, known := variant[row.Variant]
		if !ok || !known {
			continue
		}
		t := &found[i*len(variant)+v]
		if row.StartUS == nil || row.SenderDoneUS == nil {
			t.open++
			continue
		}
		t.us = append(t.us, *row.SenderDoneUS-*row.StartUS)
	}
	for i, t := range found {
		c := &all[i/len(variant)].Variants[i%len(variant)]
		c.Seeds, c.Open = spreadOf(t.us), t.open
		if len(t.us) > 0 && t.open == 0 {
			median := runfolder.Median(t.us)
			c.MedianUS = &median
		}
	}
	return all, nil
}
