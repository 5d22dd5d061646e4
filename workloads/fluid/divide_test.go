package fluid

import (
	"math/rand/v2"
	"testing"
)

// No link carries more than it can, and the rates are max-min fair: each burst sends at its
// limit, or through a full link on which none of its priority, or of a lower one, gets more
// for its weight.
func TestDivide(t *testing.T) {
	const seed, within = 31, 1e-9
	random := rand.New(rand.NewPCG(seed, 9))
	for round := range 2000 {
		links := make([]float64, 1+random.IntN(4))
		for l := range links {
			links[l] = 0.5 + random.Float64()
		}
		priorities := []int{0}
		if random.IntN(2) == 0 {
			priorities = []int{2, 1, 0}
		}
		var all []*sender
		var weights []float64
		for range 1 + random.IntN(6) {
			s := &sender{capacity: 10, priority: priorities[random.IntN(len(priorities))], limit: 0.1 + 2*random.Float64()}
			for _, l := range random.Perm(len(links))[:1+random.IntN(len(links))] {
				s.uses = append(s.uses, use{l, 0.5 + random.Float64()})
			}
			all, weights = append(all, s), append(weights, 0.01+random.Float64())
		}
		rates := newDivider(links, priorities).divide(all, weights)
		used := make([]float64, len(links))
		for i, s := range all {
			if rates[i] < 0 || rates[i] > s.limit*(1+within) {
				t.Fatalf("seed %d, round %d: burst %d sends at %v of %v", seed, round, i, rates[i], s.limit)
			}
			for _, u := range s.uses {
				used[u.link] += rates[i] * u.share
			}
		}
		for l := range links {
			if used[l] > links[l]*(1+within) {
				t.Fatalf("seed %d, round %d: link %d carries %v of %v", seed, round, l, used[l], links[l])
			}
		}
		for i, s := range all {
			fair := rates[i] >= s.limit*(1-within)
			for _, u := range s.uses {
				bottleneck := used[u.link] >= links[u.link]*(1-within)
				for k, other := range all {
					for _, v := range other.uses {
						if v.link != u.link || rates[k] <= within {
							continue
						}
						if other.priority < s.priority || other.priority == s.priority && rates[k]/weights[k] > rates[i]/weights[i]*(1+1e-6) {
							bottleneck = false
						}
					}
				}
				fair = fair || bottleneck
			}
			if !fair {
				t.Errorf("seed %d, round %d: burst %d could send more than %v", seed, round, i, rates[i])
			}
		}
	}
}
