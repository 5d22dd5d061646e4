package cli

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/balance/balancetest"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/congestion/congestiontest"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/aqm/aqmtest"
	"github.com/csiglab/csiglab/units"
)

// controller is aimd with some of its answers changed.
type controller struct {
	congestion.Controller
	path   congestion.Path
	output func(c *controller) *congestion.Output // nil: as it is
	onAck  func(c *controller)                    // after each ACK; nil: nothing
	kept   []byte
}

func (c *controller) Output() *congestion.Output {
	if c.output != nil {
		return c.output(c)
	}
	return c.Controller.Output()
}

func (c *controller) OnAck(now units.Time, a *congestion.Ack) {
	if c.Controller.OnAck(now, a); c.onAck != nil {
		c.onAck(c)
	}
}

// with returns aimd whose controllers are changed.
func with(change func(c *controller)) congestion.Algorithm {
	a := aimd
	a.Build = func(p congestion.Path, r *algorithm.Reader) congestion.Controller {
		c := &controller{Controller: aimd.Build(p, r), path: p}
		change(c)
		return c
	}
	return a
}

// declaring returns aimd with another parameter cut.
func declaring(change func(p *algorithm.Param)) congestion.Algorithm {
	a := aimd
	a.Params = slices.Clone(a.Params)
	change(&a.Params[0])
	return a
}

// acting returns aimd with other actions.
func acting(actions ...congestion.Action) congestion.Algorithm {
	a := aimd
	a.Actions = actions
	return a
}

// constantly returns aimd with another constant.
func constantly(change func(c *congestion.Constant)) congestion.Algorithm {
	a := aimd
	a.Constants = func(p congestion.Path, r *algorithm.Reader) []congestion.Constant {
		all := aimd.Constants(p, r)
		change(&all[0])
		return all
	}
	return a
}

// bdp is the limit of aimd's window.
func bdp(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) }

// mistakes has algorithms, each with one mistake of who writes a new one, by name: what
// its suite is run on, and what the suite says.
var mistakes = map[string]struct {
	run  func(t *testing.T)
	want string
}{
	"no limit": {func(t *testing.T) {
		congestiontest.RunTable(t, algorithm.Table[congestion.Algorithm]{aimd}, nil, "suite_test.go")
	}, "no limit of its window is known here: add a line to limits in suite_test.go, such as\n            \t\"test-aimd\": func(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) },"},
	"name":          suite(func() congestion.Algorithm { a := aimd; a.Name = "AIMD v1"; return a }, `Spec.Name is "AIMD v1"; experiment files name an algorithm by lower-case letters`),
	"no doc":        suite(func() congestion.Algorithm { a := aimd; a.Doc = ""; return a }, "test-aimd has no doc: set Spec.Doc to one line, which csiglab list prints"),
	"parameter doc": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Doc = "" }) }, "parameter cut of test-aimd has no doc: set Param.Doc to one line"),
	"parameter name": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Name = "name" }) },
		`a parameter of test-aimd is called "name"; want a name of its own`),
	"undeclared parameter": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Name = "cuts" }) },
		"Build of test-aimd panics with the parameters map[]: algorithm: test-aimd reads the undeclared parameter cut; a parameter that Build reads is declared in Spec.Params"),
	"kind": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Kind = "real" }) },
		`parameter cut of test-aimd has the unknown kind "real": set Param.Kind to one of ["bool" "duration" "enum" "int" "number" "rate" "size"]`),
	"another kind": suite(func() congestion.Algorithm {
		return declaring(func(p *algorithm.Param) { p.Kind, p.Default, p.Check = algorithm.Int, "1", nil })
	}, "reads the parameter cut as number; it is declared as int; a parameter that Build reads is declared in Spec.Params, and read by the method of its Kind"),
	"no default": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Default = "" }) },
		"parameter cut of test-aimd has no default: set Param.Default, because an experiment need not set the parameter"),
	"default": suite(func() congestion.Algorithm { return declaring(func(p *algorithm.Param) { p.Default = "half" }) },
		`the default of parameter cut of test-aimd, "half", is none of its kind and not the word auto: "half" is not a number`),
	"refused default": suite(func() congestion.Algorithm {
		return declaring(func(p *algorithm.Param) { p.Default = algorithm.Auto })
	}, `Build of test-aimd refuses the parameters map[], of which each is a default or one of the declared values: test-aimd: parameter cut: "auto" is not a number`),
	"nothing built": suite(func() congestion.Algorithm {
		a := aimd
		a.Build = func(congestion.Path, *algorithm.Reader) congestion.Controller { return nil }
		return a
	}, "Build of test-aimd returns nil: return what was built, or call Fail of the reader"),
	"another output": suite(func() congestion.Algorithm {
		return with(func(c *controller) {
			c.output = func(c *controller) *congestion.Output { out := *c.Controller.Output(); return &out }
		})
	}, "Output returns another pointer than before"),
	"no output": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.output = func(*controller) *congestion.Output { return nil } })
	}, "Output returns nil: return the address of an Output that the controller holds"),
	"no window": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.onAck = func(c *controller) { c.Output().Window = 1 } })
	}, "less than a packet of"),
	"large window": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.onAck = func(c *controller) { c.Output().Window = 2 * bdp(c.path) } })
	}, "the test of test-aimd give: bound the window, or correct the limit there"),
	"no base RTT": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.Controller.Output().BaseRTT = 0 })
	}, "before the first event: Output.BaseRTT is 0s: set it to Path.NetworkRTT at first, and to the least RTT seen later"),
	"negative delay": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.onAck = func(c *controller) { c.Output().Delay = -1 } })
	}, "it is the delay that the last ACK was judged by, 0 or more"),
	"undeclared action": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.onAck = func(c *controller) { c.Output().Action = 2 } })
	}, `Output.Action is 2, which Algorithm.Actions of test-aimd does not declare; it has ["grow" "cut"], from index 0`),
	"no actions": suite(func() congestion.Algorithm { return acting() }, "Output.Action is 1, and test-aimd declares no actions: add them to Algorithm.Actions, from index 0"),
	"action name": suite(func() congestion.Algorithm {
		return acting(congestion.Action{Name: "grow", Label: "x", Short: "x"}, congestion.Action{Name: "Cut it", Label: "x", Short: "x"})
	}, `Algorithm.Actions of test-aimd has the name "Cut it": want a name of its own`),
	"action label": suite(func() congestion.Algorithm {
		return acting(congestion.Action{Name: "grow", Short: "x"}, congestion.Action{Name: "cut", Label: "x", Short: "x"})
	}, "action grow of test-aimd has no Label, which legends of charts show"),
	"action short": suite(func() congestion.Algorithm {
		return acting(congestion.Action{Name: "grow", Label: "x", Short: "x"}, congestion.Action{Name: "cut", Label: "x"})
	}, "action cut of test-aimd has no Short, which bars of charts show"),
	"constant without unit": suite(func() congestion.Algorithm { return constantly(func(c *congestion.Constant) { c.Unit = "" }) },
		`constant "aimd_floor_us" of test-aimd has the Unit "", and its name says that it is in µs: set Constant.Unit to "µs", or change the name`),
	"constant with an unnamed unit": suite(func() congestion.Algorithm { return constantly(func(c *congestion.Constant) { c.Name = "floor" }) },
		`constant "floor" of test-aimd has the Unit "µs", which the end of its name does not say; names end in one of [_ns _us _ms _gbps _bytes _packets]`),
	"constant label": suite(func() congestion.Algorithm { return constantly(func(c *congestion.Constant) { c.Label = "" }) },
		`constant "aimd_floor_us" of test-aimd has no Label, which texts show`),
	"constant short": suite(func() congestion.Algorithm { return constantly(func(c *congestion.Constant) { c.Short = "" }) },
		`has no Short, which names its level in the chart delays, such as "target"`),
	"allocations": suite(func() congestion.Algorithm {
		return with(func(c *controller) { c.onAck = func(c *controller) { c.kept = make([]byte, 64) } })
	}, "per 1000 events, want 0: the path of a packet must not allocate; keep what is needed in the state"),
	"random": suite(func() congestion.Algorithm {
		return with(func(c *controller) {
			c.onAck = func(c *controller) { c.Output().Delay = units.Duration(rand.IntN(1 << 30)) }
		})
	}, "the same events gave different outputs; a controller draws nothing at random, reads no clock and shares nothing with another flow"),

	"balancer without seed": {func(t *testing.T) {
		a := stride
		a.Build = func(balance.Flow, *algorithm.Reader) balance.Balancer { return &strideState{step: 3} }
		balancetest.Run(t, a)
	}, "flows that start at the same EV collide; begin at one that Build draws from the flow's generator"},
	"balancer without doc": {func(t *testing.T) { a := stride; a.Doc = ""; balancetest.Run(t, a) }, "test-stride has no doc: set Spec.Doc to one line"},
	"policy that marks": {func(t *testing.T) {
		a := sojourn
		a.Build = func(p aqm.Port, r *algorithm.Reader) aqm.Policy { r.Duration("limit"); return sojournState{-1} }
		aqmtest.Run(t, a)
	}, `Build of test-sojourn refuses the parameters map[]`},
	"policy of an idle port": {func(t *testing.T) {
		a := sojourn
		a.Build = func(aqm.Port, *algorithm.Reader) aqm.Policy { return sojournState{-1} }
		aqmtest.Run(t, a)
	}, "from an idle port, where nothing is queued and nothing has waited"},
}

// suite is the run of the suite of controllers on an algorithm.
func suite(make func() congestion.Algorithm, want string) struct {
	run  func(t *testing.T)
	want string
} {
	return struct {
		run  func(t *testing.T)
		want string
	}{func(t *testing.T) { congestiontest.Run(t, make(), bdp) }, want}
}

// environmentIncomplete names the entry of mistakes that TestIncompleteSuite runs, in
// the process of its own in which it fails.
const environmentIncomplete = "TEST_INCOMPLETE_ALGORITHM"

func TestIncompleteSuite(t *testing.T) {
	name := os.Getenv(environmentIncomplete)
	if name == "" {
		t.Skip("TestIncompleteAlgorithms runs it")
	}
	mistakes[name].run(t)
}

// The suites say what is missing in an algorithm, and where it goes.
func TestIncompleteAlgorithms(t *testing.T) {
	for name, c := range mistakes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestIncompleteSuite$")
			cmd.Env = append(os.Environ(), environmentIncomplete+"="+name)
			out, err := cmd.CombinedOutput()
			if text := string(out); err == nil || !strings.Contains(text, c.want) || strings.Contains(text, "goroutine ") {
				t.Errorf("%v: the suite said\n%.2000s\nwant: %s", err, text, c.want)
			}
		})
	}
}
