package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/cmd/cli/command"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/suites"
)

func TestList(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string // in this order
	}{
		{[]string{"list"}, []string{"experiments: built in; csiglab run NAME\n", "  three-flow  ", " A flow that crosses two bottlenecks", "cc: values of hosts.cc, by default nscc\n", "    gamma ", "lb: values of hosts.lb, by default mixed\n", "  oblivious: ", "topologies: keys of topology, of which it has one\n", "  leaf_spine: ", "workloads: ", "  incast: "}},
		{[]string{"list", "experiments"}, []string{"  all-to-all  ", "  incast  ", "  one  "}},
		{[]string{"list", "suites"}, []string{"suites: built in; csiglab regress NAME\n", "  standard  ", "incast"}},
		{[]string{"list", "algorithms"}, []string{"cc: ", "  nscc: ", "lb: ", "  mixed: ", "aqm: ", "  linear: "}},
		{[]string{"list", "metrics"}, []string{"metrics: ", "  Runs:\n", "    fct_us.<statistic>  ", " µs ", " lower ", " transfers, ones that complete ", " completion times of", "  Ports:\n", "    queue_kb.<statistic>.<port>  "}},
		{[]string{"list", "topologies"}, []string{"topologies: ", "    tiers[].rate ", "required  1Mbps to 100Tbps ", "  dragonfly: ", "    groups ", "auto      2 to 1048576 or auto "}},
		{[]string{"list", "workloads"}, []string{"  file: ", "    (value)  file ", "  transfers: ", "    [].size ", "1B to 1000TB", "    seed   text    run       -             which permutation"}},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, c.args...)
		rest := stdout
		for _, want := range c.want {
			_, after, ok := strings.Cut(rest, want)
			if code != 0 || stderr != "" || !ok {
				t.Errorf("%q: exit %d, %s; %q is not in its place in:\n%s", c.args, code, stderr, want, stdout)
			}
			rest = after
		}
	}
}

// A name is one entry alone, of an algorithm or of the form of a metric.
func TestListOne(t *testing.T) {
	for _, c := range []struct {
		args       []string
		has, lacks string
	}{
		{[]string{"cc", "swift"}, "    base_target ", "  nscc: "},
		{[]string{"algorithms", "ecmp"}, "routing: values of routing", "  reps: "},
		{[]string{"experiments", "incast"}, "  incast  ", "three-flow"},
		{[]string{"metrics", "fct_us.p99"}, "fct_us.<statistic>  ", "drops"},
	} {
		code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"list"}, c.args...)...)
		if code != command.ExitOK || stderr != "" || !strings.Contains(stdout, c.has) || strings.Contains(stdout, c.lacks) {
			t.Errorf("%v: exit %d, %s:\n%s", c.args, code, stderr, stdout)
		}
	}
	for want, args := range map[string][]string{
		`there is no "swft" (did you mean "swift"?)`:    {"cc", "swft"},
		`there is no "nothing_us"`:                      {"metrics", "nothing_us"},
		`there is no "ecmp" here; csiglab list lb ecmp`: {"cc", "ecmp"},
		"want a table and a name, got 3":                {"cc", "swift", "x"},
	} {
		if code, stdout, stderr := csiglab(&fakeLab{}, nil, append([]string{"list"}, args...)...); code != command.ExitUsage || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit %d: %s%s, want %q", args, code, stdout, stderr, want)
		}
	}
}

// Every name and every key of the tables is listed.
func TestListJSON(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "list", "--json")
	var got map[string][]experiment.Entry
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s, %v", code, stderr, err)
	}
	sections := append(experiment.Catalogue(experiment.StandardTables()), experiment.Library())
	if len(got) != len(sections)+2 {
		t.Errorf("%d tables, want %d", len(got), len(sections)+2)
	}
	for _, s := range sections {
		if len(s.Entries) == 0 || !slices.EqualFunc(got[s.Name], s.Entries, func(a, b experiment.Entry) bool { return a.Name == b.Name && slices.Equal(a.Keys, b.Keys) }) {
			t.Errorf("%s: got %+v, want %+v", s.Name, got[s.Name], s.Entries)
		}
		for _, e := range s.Entries {
			if e.Doc == "" {
				t.Errorf("%s: %s has no doc", s.Name, e.Name)
			}
			for _, k := range e.Keys {
				if k.Doc == "" || k.Type == "" {
					t.Errorf("%s: %s.%s has no doc or no type", s.Name, e.Name, k.Path)
				}
			}
		}
	}
}

// The embedded suites are listed with what they are for.
func TestListSuites(t *testing.T) {
	_, stdout, _ := csiglab(&fakeLab{}, nil, "list", "suites", "--json")
	var got struct{ Suites []experiment.Entry }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range got.Suites {
		if names = append(names, e.Name); e.Doc == "" {
			t.Errorf("%s has no doc", e.Name)
		}
	}
	if !slices.Equal(names, suites.Names()) {
		t.Errorf("suites %q, want %q", names, suites.Names())
	}
}

// listedMetric is a metric in list --json.
type listedMetric struct {
	Name, Unit, Better, Doc string
	Needs, Statistics       []string
}

// Every metric of the catalogue is listed, with all that is known of it.
func TestListMetrics(t *testing.T) {
	code, stdout, stderr := csiglab(&fakeLab{}, nil, "list", "metrics", "--json")
	var got struct{ Metrics []listedMetric }
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit %d, %s, %v", code, stderr, err)
	}
	byName := map[string]listedMetric{}
	for _, m := range got.Metrics {
		byName[m.Name] = m
		if m.Doc == "" || strings.Contains(m.Doc, "](") {
			t.Errorf("%s: doc %q", m.Name, m.Doc)
		}
	}
	want := listedMetric{Name: "schedule_hold_us.<statistic>.<job>", Unit: "µs", Needs: []string{"jobs", "one with a schedule"}, Statistics: []string{"mean", "p50", "p99", "max"},
		Doc: "of a job with a schedule, over ranks and steps: how long a rank was held back until its slot; 0 where it was late"}
	if d := cmp.Diff(byName[want.Name], want); d != "" {
		t.Errorf("got %s", d)
	}
	if byName["jain.<group>"].Better != "higher" || byName["utilisation.<port>"].Unit != "share" || len(byName) < 110 {
		t.Errorf("%d metrics, such as %+v and %+v", len(byName), byName["jain.<group>"], byName["utilisation.<port>"])
	}
}

func TestListUnknown(t *testing.T) {
	code, _, stderr := csiglab(&fakeLab{}, nil, "list", "workload")
	if want := `unknown table "workload" (did you mean "workloads"?)`; code != command.ExitUsage || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %s; want %d and %s", code, stderr, command.ExitUsage, want)
	}
}
