package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/metrics/runfolder"
	"github.com/csiglab/csiglab/nodes/algorithm"
	"github.com/csiglab/csiglab/nodes/host/balance"
	"github.com/csiglab/csiglab/nodes/host/balance/balancetest"
	"github.com/csiglab/csiglab/nodes/host/congestion"
	"github.com/csiglab/csiglab/nodes/host/congestion/congestiontest"
	"github.com/csiglab/csiglab/nodes/switch/aqm"
	"github.com/csiglab/csiglab/nodes/switch/aqm/aqmtest"
	"github.com/csiglab/csiglab/nodes/switch/forward"
	"github.com/csiglab/csiglab/nodes/switch/forward/forwardtest"
	"github.com/csiglab/csiglab/nodes/wire"
	"github.com/csiglab/csiglab/units"
)

// The four algorithms of this file stand for new ones: each is all that its file
// would hold, by the exported names of its package, and needs one line in the
// package's table besides.

// aimd grows by a packet per window and halves on a mark or a loss.
var aimd = congestion.Algorithm{
	Spec: algorithm.Spec{
		Name:   "test-aimd",
		Doc:    "additive increase, multiplicative decrease",
		Params: []algorithm.Param{{Name: "cut", Kind: algorithm.Number, Default: "0.5", Check: algorithm.Share, Doc: "window after a mark, as a share"}},
	},
	Actions: []congestion.Action{{Name: "grow", Label: "grow by a packet", Short: "grow"}, {Name: "cut", Label: "cut the window", Short: "cut"}},
	Build: func(p congestion.Path, r *algorithm.Reader) congestion.Controller {
		return &aimdState{path: p, cut: r.Number("cut"), out: congestion.Output{Window: p.LinkRate.Volume(p.NetworkRTT), BaseRTT: p.NetworkRTT}}
	},
	Constants: func(p congestion.Path, r *algorithm.Reader) []congestion.Constant {
		return []congestion.Constant{{
			Name: "aimd_floor_us", Value: p.LinkRate.Serialisation(p.MTU).Microseconds(),
			Label: "a packet's time", Unit: "µs", Chart: congestion.ChartDelays, Short: "packet",
		}}
	},
}

type aimdState struct {
	path congestion.Path
	cut  float64
	out  congestion.Output
}

func (s *aimdState) Output() *congestion.Output { return &s.out }

func (s *aimdState) OnAck(_ units.Time, a *congestion.Ack) {
	if s.out.Action = 0; a.ECN {
		s.out.Action = 1
	}
	s.out.Delay = max(a.RTT-s.path.NetworkRTT, 0)
	s.step(a.ECN)
}
func (s *aimdState) OnNack(units.Time, *congestion.Nack)       { s.step(true) }
func (s *aimdState) OnTimeout(units.Time, *congestion.Timeout) { s.step(true) }

func (s *aimdState) step(lost bool) {
	most := s.path.LinkRate.Volume(s.path.NetworkRTT)
	if lost {
		s.out.Window = units.Size(s.cut * float64(s.out.Window))
	} else {
		s.out.Window += s.path.MTU * s.path.MTU / s.out.Window
	}
	s.out.Window = min(max(s.out.Window, s.path.MTU), most)
}

// stride goes around the EVs in steps.
var stride = balance.Algorithm{
	Spec: algorithm.Spec{
		Name:   "test-stride",
		Doc:    "every EV in steps",
		Params: []algorithm.Param{{Name: "step", Kind: algorithm.Int, Default: "7", Doc: "from one EV to the next"}},
	},
	Build: func(f balance.Flow, r *algorithm.Reader) balance.Balancer {
		return &strideState{step: uint16(r.Int("step")), ev: uint16(f.Random.IntN(1 << 12))}
	},
}

type strideState struct{ step, ev uint16 }

func (s *strideState) Next(units.Time) uint16 {
	s.ev = (s.ev + s.step) % (1 << 12)
	return s.ev
}
func (s *strideState) OnFeedback(units.Time, *balance.Feedback) {}

// sojourn marks packets that were in the queue for longer than a limit.
var sojourn = aqm.Algorithm{
	Spec: algorithm.Spec{
		Name:   "test-sojourn",
		Doc:    "marks after a time in the queue",
		Params: []algorithm.Param{{Name: "limit", Kind: algorithm.Duration, Default: algorithm.Auto, Check: algorithm.Positive(units.ParseDuration), Doc: "auto: the time to drain links.ecn.low"}},
	},
	Build: func(p aqm.Port, r *algorithm.Reader) aqm.Policy {
		return sojournState{algorithm.OrAuto(r, "limit", r.Duration, p.Rate.Serialisation(p.ECN.Low))}
	},
}

type sojournState struct{ limit units.Duration }

func (s sojournState) Mark(_ units.Time, d aqm.Departure) bool { return d.Waited > s.limit }

// rounds takes the shortest paths in turn, some packets each.
var rounds = forward.Algorithm{
	Spec: algorithm.Spec{
		Name:   "test-rounds",
		Doc:    "shortest paths in turn",
		Params: []algorithm.Param{{Name: "packets", Kind: algorithm.Int, Default: "1", Doc: "on a path before the next"}},
	},
	Build: func(s forward.Switch, r *algorithm.Reader) forward.Policy {
		packets := r.Int("packets")
		if packets < 1 {
			r.Fail("packets", fmt.Errorf("%d is not positive", packets))
		}
		return &roundsState{Switch: s, packets: packets}
	},
}

type roundsState struct {
	forward.Switch
	packets, sent int
}

func (s *roundsState) Forward(p *wire.Packet) (port int, ok bool) {
	ports := s.ECMP.Ports(p)
	if len(ports) < 2 || !forward.Free(p) {
		return s.ECMP.Forward(p)
	}
	s.sent++
	return int(ports[s.sent/s.packets%len(ports)]), true
}

// extend adds an entry to a table until the test ends.
func extend[T algorithm.Described](t *testing.T, table *algorithm.Table[T], entry T) {
	whole := *table
	if name := entry.Describe().Name; slices.Contains(whole.Names(), name) {
		t.Fatalf("the table has an entry %s of its own: rename the one of this test", name)
	}
	*table = append(slices.Clone(whole), entry)
	t.Cleanup(func() { *table = whole })
}

const withNewAlgorithms = `schema: 1
name: new
topology: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
workload: {transfers: [0 -> 2 2MB, 1 -> 2 2MB, 3 -> 2 2MB]}
links: {aqm: {name: test-sojourn, limit: 20us}}
routing: {name: test-rounds, packets: 3}
hosts:
  cc: {name: test-aimd, cut: 0.7}
  lb: {name: test-stride, step: 3}
expect:
  - run["cc_share.0-2.grow"] + run["cc_share.0-2.cut"] == 1
  - run["cc_share.0-2.cut"] > 0
  - run.aimd_floor_us > 3
  - run.marks > 0
`

// TestNewAlgorithms adds a controller, a balancer, an AQM and a routing policy, each with a
// parameter of its own, to their tables, and finds them where a user does: in the
// list, the experiment file, the metrics, the tables of the run and the report.
func TestNewAlgorithms(t *testing.T) {
	extend(t, &congestion.Table, aimd)
	extend(t, &balance.Table, stride)
	extend(t, &aqm.Table, sojourn)
	extend(t, &forward.Table, rounds)

	t.Run("suites", func(t *testing.T) {
		congestiontest.Run(t, aimd, func(p congestion.Path) units.Size { return p.LinkRate.Volume(p.NetworkRTT) })
		balancetest.Run(t, stride)
		aqmtest.Run(t, sojourn)
		forwardtest.Run(t, rounds)
	})
	run := func(args ...string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = execute(context.Background(), command.Linked{}, newWork(command.Linked{}), args, nil, &out, &errs)
		return code, out.String(), errs.String()
	}
	for table, want := range map[string][]string{
		"cc": {"  test-aimd: additive increase", "    cut  number  0.5 "}, "lb": {"  test-stride: every EV", "    step  number  7 "}, "aqm": {"  test-sojourn: marks", "    limit  time  auto "},
		"routing": {"  test-rounds: shortest paths in turn", "    packets  number  1 "},
	} {
		_, stdout, _ := run("list", table)
		for _, want := range want {
			if !strings.Contains(stdout, want) {
				t.Errorf("csiglab list %s has no %q:\n%s", table, want, stdout)
			}
		}
	}
	file, folder := write(t, "new.yaml", withNewAlgorithms), filepath.Join(t.TempDir(), "run")
	if code, stdout, stderr := run("run", file, "--out", folder); code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	f, err := runfolder.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	actions := map[string]int64{}
	for row, err := range f.CC() {
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range row.Actions {
			actions[name] += n
		}
	}
	if len(actions) != 2 || actions["grow"] == 0 || actions["cut"] == 0 {
		t.Errorf("actions in cc.parquet: %v, want grow and cut", actions)
	}
	report, err := os.ReadFile(filepath.Join(folder, runfolder.ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"grow by a packet", "cut the window", ">packet 3.32 µs<", "a packet&#39;s time 3.32 µs", "CC test-aimd, LB test-stride, AQM test-sojourn", "routing test-rounds"} {
		if !bytes.Contains(report, []byte(want)) {
			t.Errorf("the report has no %q", want)
		}
	}

	for setting, want := range map[string]string{
		"hosts.cc.cut=2":       "hosts.cc.cut: 2 is not in (0, 1]",
		"hosts.lb.step=x":      `hosts.lb.step: "x" is not a whole number`,
		"links.aqm.limit=10":   `links.aqm.limit: duration "10": a unit is missing`,
		"routing.packets=0":    "routing.packets: 0 is not positive",
		"routing.name=ecmpp":   `routing.name: unknown algorithm "ecmpp"; known: ecmp adaptive minimal valiant ugal wcmp test-rounds (did you mean "ecmp"?)`,
		"links.aqm.limits=1us": `links.aqm.limits: test-sojourn has no such parameter (did you mean "limit"?)`,
	} {
		code, _, stderr := run("validate", file, "--set", setting)
		if code != command.ExitUsage || !strings.Contains(stderr, fmt.Sprintf("--set %s: %s", setting, want)) {
			t.Errorf("--set %s: exit code %d, %s; want %s", setting, code, stderr, want)
		}
	}
}
