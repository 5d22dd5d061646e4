package regress

import (
	"context"
	"errors"
	"testing"

	"github.com/csiglab/csiglab/orchestrator/compare/verdict"
)

// A verdict says the smallest worsening that its suite finds: campaigns with a little more fail nearly
// all, and those with less mostly do not. Equal sides say nothing of their noise.
func TestPower(t *testing.T) {
	c := fakeCampaign(t, fakeSuite, &noisy{campaign: 1, noise: 0.02})
	d := run(t, c)
	if err := c.power(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	m := d.Experiments[0].Metrics[0]
	if m.Found == nil || *m.Found < 0.055 || *m.Found > 0.12 {
		t.Fatalf("found %+v", m)
	}
	fails := func(by float64) (n int) {
		for i := range uint64(20) {
			d := run(t, fakeCampaign(t, fakeSuite, &noisy{campaign: 100 + i, noise: 0.02, effects: map[string]float64{m.Name: by}}))
			if d.Experiments[0].Metrics[0].Outcome == verdict.Fail {
				n++
			}
		}
		return n
	}
	if less, more := fails(0.9**m.Found), fails(1.2**m.Found); more < 16 || less > more {
		t.Errorf("of 20 campaigns with 0.9 and 1.2 times %.3f %d and %d fail", *m.Found, less, more)
	}
	cut, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.power(cut, d); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	same := &noisy{campaign: 1}
	c = fakeCampaign(t, fakeSuite, same)
	d = run(t, c)
	if err := c.power(t.Context(), d); err != nil || d.Experiments[0].Metrics[0].Found != nil {
		t.Errorf("without noise: %v, %v", err, d.Experiments[0].Metrics[0].Found)
	}
}
