package parts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShare(t *testing.T) {
	for _, test := range []struct {
		processors []int
		want       [][]int // by part
	}{
		{[]int{0, 1}, [][]int{{0}, {1}}},
		{[]int{2, 3, 5, 7, 8}, [][]int{{2, 3}, {5, 7, 8}}},
		{[]int{0, 1, 2, 3}, [][]int{{0}, {1}, {2, 3}}},
		{[]int{4, 6}, [][]int{{4}, {4}, {6}, {6}}},
		{[]int{1}, [][]int{{1}, {1}, {1}}},
	} {
		var got [][]int
		for part := range test.want {
			got = append(got, share(test.processors, part, len(test.want)))
		}
		if d := cmp.Diff(test.want, got); d != "" {
			t.Errorf("processors %v: shares (-want +got):\n%s", test.processors, d)
		}
	}
}
