package netns_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/backend/backendtest"
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
		f := newRun(t, p)
		other := csig.Config{Format: csig.FormatCompact}
		if p.CSIG != nil {
			other = *p.CSIG
			other.TPIDCompact = 0x9999
		}
		withCSIG := p.CSIG != nil
		p.CSIG = &other // of the run, not of its nodes
		_, err := run(t, f)
		var node *backend.NodeError
		if c.refused && (!errors.As(err, &node) || !strings.Contains(node.Reason, "its CSIG profile is")) || !c.refused && err != nil {
			t.Errorf("csig %v: got %v, want a node's refusal: %v", withCSIG, err, c.refused)
		}
	}
}
