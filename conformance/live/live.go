// Package live tests a device over real interfaces, one at each of its ports. It gives the device
// frames whose result does not depend on time or load, and then measures its signals under load.
// What comes out is a conformance.Report: each result is of a rule of package conformance.
package live

import (
	"context"
	"fmt"
	"net"
	"strings"

	"github.com/csiglab/csiglab/conformance"
	"github.com/csiglab/csiglab/nodes/netio"
)

// Config is what a test needs.
type Config struct {
	Conn netio.Conn // a port of it at each of the device's, in their order
	// Ports are the names of the interfaces.
	Ports []string
	// Setup is how the device has been set up; Check has seen it.
	Setup *conformance.Setup
	// Addresses are MAC addresses that lead to each port; nil: those of Addresses.
	Addresses []net.HardwareAddr
	// Tolerance is how far available bandwidth may be off, as a share of the rate. The range of the
	// quantiser comes on top.
	Tolerance float64
}

// Run tests a device. An error wraps conformance.ErrDevice if the device does not forward; others
// are of the interfaces, or of ctx.
func Run(ctx context.Context, c Config) (*conformance.Report, error) {
	b := &bench{Config: c, layout: layoutOf(c.Setup), addresses: c.Addresses, batch: make([]netio.Frame, 256)}
	if b.addresses == nil {
		var err error
		if b.addresses, err = Addresses(c.Setup); err != nil {
			return nil, err
		}
	}
	report := &conformance.Report{Device: "the switch at " + strings.Join(c.Ports, ", ")}
	if err := b.learn(ctx); err != nil {
		return nil, err
	}
	for _, x := range b.cases() {
		r, err := b.try(ctx, x)
		if err != nil {
			return nil, err
		}
		report.Results = append(report.Results, r)
	}
	measured, err := b.signals(ctx)
	if err != nil {
		return nil, err
	}
	report.Results = append(report.Results, measured...)
	report.Results = append(report.Results, b.untried(report.Results)...)
	conformance.Order(report.Results, func(r *conformance.Result) string { return r.RuleID })
	return report, nil
}

// vector returns a vector of a rule without frames.
func (b *bench) vector(rule, name string) *conformance.Vector {
	r := conformance.Find(rule)
	return &conformance.Vector{
		ID: rule + "/" + name, RuleID: rule, Sentence: r.Sentence, Standing: r.Standing, Source: r.Source, Device: "as set up", Setup: b.Setup,
	}
}

// attempts is how often a frame that does not come back is sent: a busy machine loses some.
const attempts = 3

// try runs a case.
func (b *bench) try(ctx context.Context, x test) (r conformance.Result, err error) {
	r = conformance.Result{Vector: b.vector(x.rule, x.name+"-"+b.Ports[x.to]), Outcome: conformance.Passed}
	from := (x.to + 1) % len(b.addresses)
	want := b.between(from, x.to, x.out, x.body)
	want.Port = x.to
	r.In, r.Out = []conformance.Frame{b.between(from, x.to, x.in, x.body)}, []conformance.Frame{want}
	var got []conformance.Frame
	for range attempts {
		if got, err = b.through(ctx, r.In, 1); err != nil {
			return r, err
		}
		if len(got) > 0 {
			break
		}
	}
	if x.measured != nil && len(got) > 0 {
		// S may be any code of what a port can measure: what is wanted has the one that came.
		x.measured.Signal = x.near(signal(got[0].Bytes, x.measured.Format, x.at()))
		r.Out[0] = b.between(from, x.to, x.out, x.body)
		r.Out[0].Port = x.to
	}
	if r.Wrong = r.Judge(got); len(r.Wrong) > 0 {
		r.Outcome = conformance.Failed
	}
	return r, nil
}

// untried returns a skip for each rule that has no result.
func (b *bench) untried(results []conformance.Result) (list []conformance.Result) {
	seen := map[string]bool{}
	for i := range results {
		seen[results[i].RuleID] = true
	}
	for i := range conformance.Rules {
		rule := &conformance.Rules[i]
		if seen[rule.ID] {
			continue
		}
		list = append(list, conformance.Result{Vector: b.vector(rule.ID, "live"), Outcome: conformance.Skipped, Reason: "not tried: " + reason(rule.ID)})
	}
	return list
}

// reasons say why rules are not tried, by the beginning of their names; the first that fits holds.
var reasons = []struct{ rules, why string }{
	{"CSIG-DIA", "the device is set up for the other dialect, or the rule is of trims"},
	{"CSIG-QUA", "the value of a port is not known to a single byte from outside"},
	{"CSIG-SIG", "the first port updates no tags of the type"},
	{"CSIG-INI", "no port puts tags on"},
	{"CSIG-UPD-03", "the value of a port is not known to a single byte from outside"},
	{"CSIG-UPD-05", "the value of a port is not known to a single byte from outside"},
	{"CSIG-UPD-1", "it takes a path of several switches"},
	{"CSIG-EDG", "no port leads out of the domain"},
	{"CSIG-REF", "it is a rule of hosts"},
	{"CSIG-DMG", "interfaces fill short frames up"},
	{"CSIG-TRI", "the frames are none of a transport whose packets are trimmed"},
	{"CSIG-IPH", "the device forwards by MAC addresses here"},
	{"CSIG-HSH", "each address leads to one port"},
	{"CSIG-", "the setup has no port, format or type for it"},
}

func reason(rule string) string {
	for _, r := range reasons {
		if strings.HasPrefix(rule, r.rules) {
			return r.why
		}
	}
	return ""
}

// name is a name of a result, in the words of vectors.
func name(words ...any) string {
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(words...)), " ", "-")
}
