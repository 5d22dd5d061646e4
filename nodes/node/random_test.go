package node_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/node"
)

// No two generators of a run share a stream.
func TestRandomStreams(t *testing.T) {
	type stream struct {
		node    int
		purpose node.Purpose
		index   int
	}
	seen := map[uint64]stream{}
	for _, n := range []int{0, 1, 255, 256, 257, 511, 65535, node.NoNode} {
		for purpose := node.RandomBalance; purpose <= node.RandomIngress; purpose++ {
			for index := range 300 {
				s := stream{n, purpose, index}
				first := node.Random(1, n, purpose, index).Uint64()
				if other, ok := seen[first]; ok {
					t.Fatalf("%+v and %+v share a stream", s, other)
				}
				seen[first] = s
				if again := node.Random(1, n, purpose, index).Uint64(); again != first {
					t.Fatalf("%+v draws %x, then %x", s, first, again)
				}
				if node.Random(2, n, purpose, index).Uint64() == first {
					t.Fatalf("%+v does not depend on the seed", s)
				}
			}
		}
	}
}
