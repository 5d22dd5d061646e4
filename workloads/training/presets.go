package training

// Preset is a model whose shape is published.
type Preset struct {
	Name  string
	Model Model
	Doc   string // what is published and what is derived
}

// Presets lists the models, in an order for reading. It is not to be changed.
var Presets = []Preset{
	{"llama3-8b", Model{Layers: 32, Hidden: 4096, FFN: 14336, Heads: 32, KVHeads: 8, Sequence: 8192, Vocabulary: 128256, Gated: true},
		"Llama 3 8B: shape published (Grattafiori et al. 2024, table 3); 8.03 billion parameters derived from it"},
	{"llama3-70b", Model{Layers: 80, Hidden: 8192, FFN: 28672, Heads: 64, KVHeads: 8, Sequence: 8192, Vocabulary: 128256, Gated: true},
		"Llama 3 70B: shape published (Grattafiori et al. 2024, table 3); 70.6 billion parameters derived from it"},
	{"llama3-405b", Model{Layers: 126, Hidden: 16384, FFN: 53248, Heads: 128, KVHeads: 8, Sequence: 8192, Vocabulary: 128256, Gated: true},
		"Llama 3 405B: shape published (Grattafiori et al. 2024, table 3); 405.9 billion parameters derived from it"},
	{"gpt3-175b", Model{Layers: 96, Hidden: 12288, FFN: 49152, Heads: 96, Sequence: 2048, Vocabulary: 50257, Tied: true},
		"GPT-3 175B: shape published (Brown et al. 2020, table 2.1); 174.6 billion parameters derived from it"},
	{"bert-large", Model{Layers: 24, Hidden: 1024, FFN: 4096, Heads: 16, Sequence: 512, Vocabulary: 30522, Tied: true},
		"BERT-large: shape and 340 million parameters published (Devlin et al. 2019); 333 million derived, without positions, biases and the pooler"},
	{"mixtral-8x7b", Model{Layers: 32, Hidden: 4096, FFN: 14336, Heads: 32, KVHeads: 8, Sequence: 4096, Vocabulary: 32000, Gated: true, Experts: 8, TopK: 2},
		"Mixtral 8x7B: shape published (Jiang et al. 2024, table 1); 46.7 billion parameters, 12.9 billion of them active, derived from it; the sequence length is ours"},
	{"gpt-tiny", Model{Layers: 4, Hidden: 64, FFN: 256, Heads: 4, Sequence: 64, Vocabulary: 512, Tied: true},
		"a small GPT of ours for runs with real frames: 0.23 million parameters"},
	{"moe-tiny", Model{Layers: 2, Hidden: 64, FFN: 128, Heads: 4, Sequence: 64, Vocabulary: 512, Tied: true, Experts: 8, TopK: 2},
		"a small mixture of experts of ours for runs with real frames"},
}

// FindPreset returns the model of a name.
func FindPreset(name string) (Model, bool) {
	for _, p := range Presets {
		if p.Name == name {
			return p.Model, true
		}
	}
	return Model{}, false
}
