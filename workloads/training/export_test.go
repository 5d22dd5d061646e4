package training

// ActiveParameters returns how many parameters compute for one token: of a model with
// experts those of TopK experts.
func (m *Model) ActiveParameters() int64 {
	if m.Experts == 0 {
		return m.Parameters()
	}
	return m.Parameters() - int64(m.Layers)*int64(m.Experts-m.TopK)*m.feedForward()
}
