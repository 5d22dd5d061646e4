package plan_test

import (
	"strings"
	"testing"
)

// In order alone and on several paths at once is a loss for each packet that overtakes
// another: a note says so where both are true.
func TestRecoveryNotes(t *testing.T) {
	fatTree := "topology: {k_ary: {k: 4, rate: 10Gbps, delay: 1us}}\n"
	onePath := ""
	for _, tc := range []struct {
		text, hosts string
		want        bool
	}{
		{fatTree, "{recovery: go_back_n}", true},
		{fatTree, "{recovery: go_back_n, lb: oblivious}", true},
		{fatTree, "{recovery: go_back_n, lb: single}", false},
		{fatTree, "{recovery: go_back_n, lb: {name: mixed, paths: 1}}", false},
		{fatTree, "{recovery: selective}", false},
		{onePath, "{recovery: go_back_n}", false},
	} {
		p := compile(t, tc.text+"hosts: "+tc.hosts+"\n")
		got := ""
		for _, n := range p.Notes {
			if strings.HasPrefix(n, "hosts.recovery: ") {
				got = n
			}
		}
		if (got != "") != tc.want {
			t.Errorf("hosts %s: note %q, want one: %v", tc.hosts, got, tc.want)
		}
	}
}
