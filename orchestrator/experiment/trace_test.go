package experiment

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const traced = small + "trace: {flows: [1-2, \"0-*\", 1, 0..1], events: [ack, send]}\n"

func TestTrace(t *testing.T) {
	set := parse(t, traced+"variants:\n  a: {}\n  b: {trace.events: [sample]}\n  c: {trace.flows: []}\n")
	want := &Trace{Flows: []string{"1-2", "0-*", "1", "0..1"}, Events: []string{"ack", "send"}}
	if diff := cmp.Diff(want, set.Base.Trace); diff != "" {
		t.Error("(-want +got)", diff)
	}
	want.Events = []string{"sample"}
	if diff := cmp.Diff(want, set.Variants[1].Experiment.Trace); diff != "" {
		t.Error("variant b (-want +got)", diff)
	}
	if got := set.Variants[2].Experiment.Trace; len(got.Flows) != 0 {
		t.Errorf("variant c traces %v", got)
	}
	roundTrip(t, set, testTables())

	set = parse(t, small, "trace={flows: [1-2]}", "telemetry.interval=auto")
	if diff := cmp.Diff([]string{"ack", "sample", "send"}, set.Base.Trace.Events); diff != "" {
		t.Error("all events without events (-want +got)", diff)
	}
	if set.Base.Telemetry.Interval != 0 {
		t.Errorf("interval %v, want auto", set.Base.Telemetry.Interval)
	}
	roundTrip(t, set, testTables())
	if got := parse(t, small).Base; got.Trace != nil || got.Telemetry.Interval != 0 {
		t.Errorf("without the keys: trace %v, windows of %v", got.Trace, got.Telemetry.Interval)
	}
}

// TestWrongTrace has one mistake per entry, as TestWrongInput.
func TestWrongTrace(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"no flows", `flows: [1-2, "0-*", 1, 0..1], `, "", `x.yaml:14:9: trace: the key "flows" is missing`},
		{"unknown event", "[ack, send]", "[ack, sned]", `x.yaml:14:53: trace.events[1]: unknown value "sned"; known: ack sample send (did you mean "send"?)`},
		{"unknown key", "events:", "event:", `x.yaml:14:39: trace.event: unknown key "event" (did you mean "events"?)`},
		{"no list", `[1-2, "0-*", 1, 0..1]`, "1-2", `trace.flows: want a list, got a single value`},
		{"pattern", `"0-*"`, `"0-["`, `trace.flows[1]: "0-[": syntax error in pattern`},
		{"blank", `"0-*"`, `" "`, `trace.flows[1]: want the name of a flow, such as 0-8, a pattern, or numbers such as 0..9`},
		{"range", "0..1", "9..1", `trace.flows[3]: "9..1" is no range of flow numbers; write 1..9`},
		{"large number", "0..1", "0..99999999999999999999", `trace.flows[3]: "0..99999999999999999999" is too large for the number of a flow`},
		{"windows of a variant", "trace:", "variants: {a: {telemetry.interval: 1ms}}\ntrace:", `x.yaml:14:16: variants.a.telemetry.interval: a variant cannot change telemetry, which all variants share`},
		{"short windows", "trace:", "telemetry: {interval: 500ns}\ntrace:", `telemetry.interval: 500ns is too small; the least is 1us`},
	} {
		text := strings.Replace(traced, c.old, c.new, 1)
		_, err := Parse("x.yaml", "", []byte(text), Options{Tables: testTables()})
		var errs Errors
		if !errors.As(err, &errs) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}
