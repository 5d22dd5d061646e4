package dataplane_test

import (
	"testing"

	"github.com/csiglab/csiglab/nodes/node"
)

// A switch that is touched between its calls sends what one sends that is not.
func TestTouchChangesNothing(t *testing.T) {
	var sent [2][]string
	for i := range sent {
		r := newRig(t, config())
		for range 20 {
			r.receive(0, 3, r.data(1, 4150))
			if i == 1 {
				r.Nodes[0].Stepper.Machine.(node.Toucher).Touch()
			}
		}
		r.Run(1_000_000_000)
		for _, d := range r.Sent {
			sent[i] = append(sent[i], d.Packet.String())
		}
	}
	if len(sent[0]) == 0 || len(sent[0]) != len(sent[1]) {
		t.Fatalf("%d and %d packets were sent, want as many", len(sent[0]), len(sent[1]))
	}
	for i := range sent[0] {
		if sent[0][i] != sent[1][i] {
			t.Errorf("packet %d: %s, touched %s", i, sent[0][i], sent[1][i])
		}
	}
}
