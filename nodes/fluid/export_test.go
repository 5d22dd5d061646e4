package fluid

// Rates returns the rates of all flows, in bytes a picosecond.
func (n *Network) Rates() (all []float64) {
	for i := range n.flows {
		all = append(all, n.flows[i].rate)
	}
	return all
}
