package training

// matrices returns the number of matrices of a feed-forward part.
func (m *Model) matrices() int64 {
	if m.Gated {
		return 3
	}
	return 2
}

// kvHidden returns the size of the keys, or values, of one token.
func (m *Model) kvHidden() int64 {
	if m.KVHeads == 0 {
		return int64(m.Hidden)
	}
	return int64(m.Hidden) / int64(m.Heads) * int64(m.KVHeads)
}

// attention returns the weights of a layer's attention: queries and output, keys and values.
func (m *Model) attention() int64 {
	return 2*int64(m.Hidden)*int64(m.Hidden) + 2*int64(m.Hidden)*m.kvHidden()
}

// feedForward returns the weights of a feed-forward part, or of one expert.
func (m *Model) feedForward() int64 { return m.matrices() * int64(m.Hidden) * int64(m.FFN) }

// router returns the weights that choose the experts.
func (m *Model) router() int64 { return int64(m.Hidden) * int64(m.Experts) }

// norms returns the weights of a layer's two normalisations.
func (m *Model) norms() int64 { return 2 * int64(m.Hidden) }

// dense returns the parameters of a layer that every rank of data parallelism has.
func (m *Model) dense() int64 {
	if m.Experts > 0 {
		return m.attention() + m.router() + m.norms()
	}
	return m.attention() + m.feedForward() + m.norms()
}

// experts returns the parameters of all experts of a layer.
func (m *Model) experts() int64 { return int64(m.Experts) * m.feedForward() }

// embedding returns the weights of the embedding, and of the output layer.
func (m *Model) embedding() int64 { return int64(m.Vocabulary) * int64(m.Hidden) }

// Parameters returns the number of the model's parameters: matrices, scales of
// normalisations, embedding and output layer. Biases and learned positions, which are less
// than a thousandth of large models, are not counted.
func (m *Model) Parameters() int64 {
	n := int64(m.Layers)*(m.dense()+m.experts()) + int64(m.Hidden) + m.embedding()
	if !m.Tied {
		n += m.embedding()
	}
	return n
}

// flops are floating-point operations of the forward pass of a number of tokens. They are
// real numbers, as a step of a large model has more than 64 bits count.
type flops struct {
	weights float64 // multiplications by weights, but those of experts: 2 for each weight and token
	scores  float64 // of queries with keys, and of scores with values
	experts float64 // multiplications by experts' weights
}

// layer returns the operations of a layer. Those of the attention's scores are 4 times
// sequence times hidden for each token, without a discount for causal masks, as PaLM counts
// them (Chowdhery et al., JMLR 2023, appendix B).
func (m *Model) layer(tokens float64) flops {
	f := flops{
		weights: 2 * float64(m.dense()-m.norms()) * tokens,
		scores:  4 * float64(m.Sequence) * float64(m.Hidden) * tokens,
	}
	if m.Experts > 0 {
		f.experts = 2 * float64(m.TopK) * float64(m.feedForward()) * tokens
	}
	return f
}

// output returns the operations of the output layer.
func (m *Model) output(tokens float64) float64 { return 2 * float64(m.embedding()) * tokens }

// FLOPs returns the floating-point operations of training on a number of tokens: forward and
// backward pass, which is twice the forward pass. That is 6 for each weight and token that
// meet, plus 12 times layers, sequence and hidden for each token (Chowdhery et al.,
// appendix B). The embedding is a table and multiplies nothing.
func (m *Model) FLOPs(tokens float64) float64 {
	f := m.layer(tokens)
	layers := float64(m.Layers) * (float64(f.weights+f.scores) + f.experts)
	return 3 * (layers + m.output(tokens))
}
