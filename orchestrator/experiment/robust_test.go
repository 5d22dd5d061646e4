package experiment

import (
	"strings"
	"testing"
)

const robustText = `schema: 1
name: t
topology: {dumbbell: {left: 1, right: 1, rate: 1Gbps, delay: 1us}}
workload: {transfers: [0 -> 1 1kB]}
expect:
  - run["fct_us.p99"] <
      100
  - run.drops == 0
robust:
  - settings: [seeds, rate, format wide]
    except: ["run.drops*"]
  - settings: [rtt x4]
    expect: [run.drops == 0]
`

// A promise is about the expectations that it names, and the settings of a dimension.
func TestPromised(t *testing.T) {
	set, err := Parse("t.yaml", ".", []byte(robustText), Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	e := set.Base
	for setting, want := range map[string][2]bool{
		"seeds": {true, false}, "rate x0.25": {true, false}, "rate x4": {true, false}, "format wide": {true, false},
		"rtt x4": {false, true}, "rtt x0.5": {}, "mtu 1500B": {}, "format compact": {},
	} {
		for i := range want {
			if got := e.Promised(e.Expect[i], setting); got != want[i] {
				t.Errorf("%s, %s: got %v, want %v", setting, e.Expect[i], got, want[i])
			}
		}
	}
	text, err := e.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("again.yaml", ".", text, Options{Tables: StandardTables()})
	if err != nil {
		t.Fatal(err)
	}
	if !again.Base.Promised(e.Expect[1], "rtt x4") || again.Base.Promised(e.Expect[0], "rtt x4") {
		t.Errorf("a resolved experiment promises something else: %+v", again.Base.Robust)
	}
}

// What is wrong with promises is named with its place and what was probably meant.
func TestWrongPromises(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"[rtt x4]", "[rtt x3]", `t.yaml:12:16: robust[1].settings[0]: unknown value "rtt x3"; known: `},
		{"[rtt x4]", "[rtt x3]", `(did you mean "rtt x4"?)`},
		{"[rtt x4]", "[]", "t.yaml:12:"},
		{"[rtt x4]", "[]", "robust[1].settings: the list is empty; name settings, such as [seeds, rate x4]"},
		{"  - settings: [rtt x4]\n    expect", "  - expect", `robust[1]: the key "settings" is missing`},
		{"except:", "exept:", `t.yaml:11:5: robust[0].exept: unknown key "exept" (did you mean "except"?)`},
		{"[run.drops == 0]", "[run.drop == 0]", `t.yaml:13:14: robust[1].expect[0]: no expectation is "run.drop == 0" (did you mean "run.drops == 0"?)`},
		{`["run.drops*"]`, `["drops*"]`, `t.yaml:11:14: robust[0].except[0]: no expectation is "drops*"`},
	} {
		_, err := Parse("t.yaml", ".", []byte(strings.Replace(robustText, c.old, c.new, 1)), Options{Tables: StandardTables()})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.new, err, c.want)
		}
	}
	// Who gives other expectations need not give other promises.
	o := Override{Path: "expect", Value: "[run.drops == 1]", Origin: "--set expect"}
	if _, err := Parse("t.yaml", ".", []byte(robustText), Options{Tables: StandardTables(), Override: []Override{o}}); err != nil {
		t.Error(err)
	}
}

// A dimension stands for its settings, and all for every one.
func TestStressSettings(t *testing.T) {
	for name, want := range map[string]string{
		"seeds": "seeds", "rate": "rate x0.25, rate x4", "rtt x4": "rtt x4", "sampling": "sampling 1/4", "rate x3": "", "Rate": "",
		"all": "seeds, rate x0.25, rate x4, rtt x0.5, rtt x4, mtu 1500B, queue x0.5, format compact, format wide, sampling 1/4",
	} {
		if got := strings.Join(StressSettings(name), ", "); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
