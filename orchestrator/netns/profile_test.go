package netns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/node"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
	"github.com/csiglab/csiglab/orchestrator/netns"
)

// A program that reads tags in another way than the rest of the run, because it is
// of another version, is refused by name before the run starts; a node without
// CSIG is not.
func TestProfile(t *testing.T) {
	for _, c := range []struct {
		text    string
		refused bool
	}{
		{backendtest.Small, true},
		{strings.NewReplacer("csig: {format: compact}", "", "csig: max-delay", "csig: none").Replace(backendtest.Small), false},
	} {
		p := backendtest.Compile(t, c.text)
		f := fabric(t, p)
		f.Profile = p.Capture.Domain.Profile() + 1
		_, err := run(t, f)
		var node *netns.NodeError
		if c.refused && (!errors.As(err, &node) || !strings.Contains(node.Reason, "its CSIG profile is")) || !c.refused && err != nil {
			t.Errorf("csig %v: got %v, want a node's refusal: %v", p.Capture.Domain != nil, err, c.refused)
		}
	}
}
