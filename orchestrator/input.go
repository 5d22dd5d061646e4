package orchestrator

func (f *fabric) buildTopology() error {
	b, err := f.experiment.Topology.Build()
	f.graph, f.notes = b.Graph, append(f.notes, b.Notes...)
	return configuration(err)
}

func (f *fabric) buildWorkload() error {
	load, notes, err := f.experiment.Workload.Build(f.graph.Hosts(), f.experiment.Links)
	if err != nil {
		return configuration(err)
	}
	f.workload, f.notes = load, append(f.notes, notes...)
	// Programs alone are a workload too.
	if len(load.Transfers) == 0 && f.experiment.Applications == nil {
		err = load.Validate()
	} else {
		err = f.parted(load)
	}
	if err != nil {
		return at("workload", err)
	}
	return nil
}
