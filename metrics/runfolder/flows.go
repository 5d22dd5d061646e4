package runfolder

import (
	"slices"

	"github.com/csiglab/csiglab/metrics"
)

// Flow is a metrics.FlowInfo in JSON; either converts to the other.
type Flow struct {
	Flow    int32  `json:"flow"`
	Name    string `json:"name"`
	Src     int32  `json:"src"`
	Dst     int32  `json:"dst"`
	Size    int64  `json:"size"` // bytes
	Packets int64  `json:"packets"`
	Job     int32  `json:"job"`
	// Of a connection of a job, as in metrics.FlowInfo; 0 otherwise.
	Messages int    `json:"messages,omitempty"`
	SrcRank  int32  `json:"srcRank,omitempty"`
	DstRank  int32  `json:"dstRank,omitempty"`
	Channel  uint16 `json:"channel,omitempty"`
}

// Flows returns the flows of a plan as the manifest keeps them, in the same
// order.
func Flows(infos []metrics.FlowInfo) []Flow {
	flows := make([]Flow, len(infos))
	for i, f := range infos {
		flows[i] = Flow{Flow: f.Flow, Name: f.Name, Src: f.Src, Dst: f.Dst, Size: int64(f.Size), Packets: f.Packets, Job: f.Job, Messages: f.Messages, SrcRank: f.SrcRank, DstRank: f.DstRank, Channel: f.Channel}
	}
	return flows
}

// FlowsOf returns the flows of all runs of a variant, each name once, with the number and
// the size that it has in the first of them: the traffic may be another one under each seed.
func (m *Manifest) FlowsOf(variant string) []Flow {
	flows := m.FirstFlows(variant)
	var known map[string]bool
	for i := range m.Runs {
		r := &m.Runs[i]
		if r.Variant != variant || r.Flows == nil {
			continue
		}
		if known == nil {
			flows, known = slices.Clone(flows), make(map[string]bool, len(flows))
			for i := range flows {
				known[flows[i].Name] = true
			}
		}
		for _, f := range r.Flows {
			if !known[f.Name] {
				known[f.Name], flows = true, append(flows, f)
			}
		}
	}
	return flows
}

// FlowsOfRun returns the flows of a run, by number.
func (m *Manifest) FlowsOfRun(variant string, seed uint64) []Flow {
	for i := range m.Runs {
		if r := &m.Runs[i]; r.Variant == variant && r.Seed == seed && r.Flows != nil {
			return r.Flows
		}
	}
	return m.FirstFlows(variant)
}

// FirstFlows returns the flows of a variant under its first seed.
func (m *Manifest) FirstFlows(variant string) []Flow {
	for _, v := range m.Variants {
		if v.Name == variant && v.Flows != nil {
			return v.Flows
		}
	}
	return m.Flows
}
