package training

// ActiveParameters returns how many parameters compute for one token: of a model with
// experts those of TopK experts.
func (m *Model) ActiveParameters() int64 {
	if m.Experts == 0 {
		return m.Parameters()
	}
	return m.Parameters() - int64(m.Layers)*int64(m.Experts-m.TopK)*m.feedForward()
}

// FLOPs returns the floating-point operations of training on a number of tokens: forward and
// backward pass, which is twice the forward pass. That is 6 for each weight and token that
// meet, plus 12 times layers, sequence and hidden for each token (Chowdhery et al.,
// appendix B). The embedding is a table and multiplies nothing.
func (m *Model) FLOPs(tokens float64) float64 {
	f := m.layer(tokens)
	layers := float64(m.Layers) * (float64(f.weights+f.scores) + f.experts)
	return 3 * (layers + m.output(tokens))
}
