package congestion_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/units"
)

// What an algorithm lacks is found without a test, as for those that modules register:
// each mistake is one sentence.
func TestLacks(t *testing.T) {
	nscc, _ := congestion.Table.Lookup("nscc")
	for _, a := range congestion.Table {
		if lacks := a.Lacks(); lacks != nil {
			t.Errorf("%s lacks %q", a.Name, lacks)
		}
	}
	for name, c := range map[string]struct {
		change func(a *congestion.Algorithm)
		want   string
	}{
		"no doc":     {func(a *congestion.Algorithm) { a.Doc = "" }, "has no doc"},
		"no build":   {func(a *congestion.Algorithm) { a.Build = nil }, "has no Build"},
		"no default": {func(a *congestion.Algorithm) { a.Params = slices.Clone(a.Params); a.Params[0].Default = "" }, "has no default"},
		"undeclared": {func(a *congestion.Algorithm) { a.Actions = a.Actions[:1] }, "does not declare"},
		"unit": {func(a *congestion.Algorithm) {
			a.Constants = func(congestion.Path, *algorithm.Reader) []congestion.Constant {
				return []congestion.Constant{{Name: "x", Label: "x", Unit: "µs"}}
			}
		}, "does not say"},
		"panic in Build": {func(a *congestion.Algorithm) {
			a.Build = func(congestion.Path, *algorithm.Reader) congestion.Controller { panic("boom") }
		}, "panics with the parameters map[]: boom"},
		"panic at an ACK": {func(a *congestion.Algorithm) {
			a.Build = func(congestion.Path, *algorithm.Reader) congestion.Controller { return new(panicking) }
		}, "the controller of nscc panics after an ACK: boom"},
		"below its bounds": {func(a *congestion.Algorithm) {
			a.Windows = func(congestion.Path, *algorithm.Reader) congestion.Windows {
				return congestion.Windows{Min: units.GB, Max: 2 * units.GB}
			}
		}, "below the least that Algorithm.Windows"},
	} {
		a := nscc
		c.change(&a)
		if lacks := a.Lacks(); len(lacks) != 1 || !strings.Contains(lacks[0], c.want) {
			t.Errorf("%s: lacks %q, want one with %q", name, lacks, c.want)
		}
	}
}

type panicking struct{ out congestion.Output }

func (p *panicking) Output() *congestion.Output {
	p.out = congestion.Output{Window: 10_000, BaseRTT: 1}
	return &p.out
}
func (p *panicking) OnAck(units.Time, *congestion.Ack)         { panic("boom") }
func (p *panicking) OnNack(units.Time, *congestion.Nack)       {}
func (p *panicking) OnTimeout(units.Time, *congestion.Timeout) {}
