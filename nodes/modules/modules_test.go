package modules

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// with makes some modules the compiled ones, and nothing registered, until the test ends.
func with(t *testing.T, list ...Module) {
	t.Helper()
	before, registered, wrong := compiled, entries, faults
	compiled, entries, faults = list, nil, nil
	t.Cleanup(func() { compiled, entries, faults = before, registered, wrong })
}

func TestOf(t *testing.T) {
	with(t, Module{Path: "example.com/a"}, Module{Path: "example.com/a/deep"})
	for pkg, want := range map[string]string{
		"example.com/a": "example.com/a", "example.com/a/b": "example.com/a", "example.com/a/deep/er": "example.com/a/deep",
		"example.com/ab": "", "example.com": "",
	} {
		if m, ok := Of(pkg); m.Path != want || ok != (want != "") {
			t.Errorf("Of(%s) = %q, %v; want %q", pkg, m.Path, ok, want)
		}
	}
}

// The linker's flags say what csiglab build has compiled in.
func TestLinkerFlags(t *testing.T) {
	list := []Module{{"example.com/a", "v1.2.3", "h1:a+/="}, {"example.com/b", "", "h1:b="}}
	flags := strings.Fields(LinkerFlags(list, "key"))
	if len(flags) != 4 || flags[0] != "-X" || flags[3] != "github.com/csiglab/csiglab/nodes/modules.build=key" {
		t.Fatalf("flags %q", flags)
	}
	text, ok := strings.CutPrefix(flags[1], "github.com/csiglab/csiglab/nodes/modules.compiledText=")
	if got := parse(text); !ok || !slices.Equal(got, list) {
		t.Errorf("parsed %v, want %v", got, list)
	}
	if got := parse(""); got != nil {
		t.Errorf("no modules are parsed as %v", got)
	}
}

func TestRegister(t *testing.T) {
	with(t, Module{Path: "example.com/a"})
	if origin, ok := Register("example.com/a/x", "cc", "one", nil); origin != "example.com/a" || !ok {
		t.Errorf("origin %q, %v", origin, ok)
	}
	if origin, ok := Register("example.com/other", "lb", "one", nil); origin != "example.com/other" || !ok {
		t.Errorf("origin %q, %v: a load balancer may have the name of a controller", origin, ok)
	}
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	if _, ok := Register("example.com/b", "cc", "one", nil); ok {
		t.Error("a name is registered twice")
	}
	if _, ok := Register("example.com/a", "aqm", "two", []string{"two has no doc", "two has no Build"}); ok {
		t.Error("an entry that lacks something is registered")
	}
	want := `module example.com/b: congestion control "one": example.com/a/x has registered another one of this name: give one of the two another name
module example.com/a: AQM policy "two": two has no doc
module example.com/a: AQM policy "two": two has no Build`
	if got := fmt.Sprint(Check()); got != want {
		t.Errorf("Check says\n%s\nwant\n%s", got, want)
	}
	if got := compiled[0].Entries(); len(got) != 1 || got[0].Name != "one" {
		t.Errorf("entries of the module: %v", got)
	}
}

func TestPackageOf(t *testing.T) {
	for function, want := range map[string]string{
		"example.com/mine/relay.(*state).OnAck":   "example.com/mine/relay",
		"example.com/mine/relay.init.0":           "example.com/mine/relay",
		"gopkg.in/relay%2ev2.New[...]":            "gopkg.in/relay.v2",
		"main.main":                               "main",
		"example.com/relay%2ev2/x.(*s).f.func1.2": "example.com/relay%2ev2/x",
	} {
		if got := PackageOf(function); got != want {
			t.Errorf("PackageOf(%s) = %q, want %q", function, got, want)
		}
	}
	if got := Caller(0); got != "github.com/csiglab/csiglab/nodes/modules" {
		t.Errorf("the caller is %q", got)
	}
}

// A stack names the innermost module, and what csiglab calls says the kind of algorithm.
func TestBlame(t *testing.T) {
	with(t, Module{Path: "example.com/a"}, Module{Path: "example.com/b"})
	for _, e := range []Entry{{"cc", "one", "example.com/a"}, {"lb", "two", "example.com/a/lb"}, {"cc", "three", "example.com/b"}, {"cc", "four", "example.com/b"}, {"signals", "five", "example.com/b/s"}} {
		Register(e.Package, e.Kind, e.Name, nil)
	}
	const nodes = "github.com/csiglab/csiglab/nodes/"
	for want, functions := range map[string][]string{
		"congestion control one of module example.com/a panics (in example.com/a.(*c).OnAck)":             {"slices.Sort", "example.com/a.(*c).OnAck", nodes + "host/transport.(*Sender).OnAck"},
		"load balancer two of module example.com/a panics (in example.com/a/lb.f)":                        {"example.com/a/lb.f", "example.com/a/lb.(*b).Next", nodes + "host/transport.(*Sender).Send"},
		"congestion control three or four of module example.com/b panics (in example.com/b.init.0.func1)": {"example.com/b.init.0.func1", nodes + "host/congestion.Algorithm.New.func1", nodes + "algorithm.Build[...]"},
		"signal five of module example.com/b panics (in example.com/b/s.init.0.func1)":                    {"example.com/b/s.init.0.func1", nodes + "csig.Type.Value", nodes + "switch/dataplane.(*Switch).signal"},
		"one or two of module example.com/a panics (in example.com/a.g)":                                  {"example.com/a.g", "runtime.goexit"},
		"congestion control three or four of module example.com/b panics (in example.com/b.(*c).Output)":  {"example.com/b.(*c).Output", nodes + "host/transport.NewSender", "example.com/a.(*c).OnAck"},
	} {
		f, ok := Blame(functions, "panics")
		if !ok || f.Error() != want {
			t.Errorf("%v, %v; want %s", f, ok, want)
		}
	}
	if f, ok := Blame([]string{"runtime.gopanic", nodes + "host/transport.(*Sender).OnAck"}, "panics"); ok {
		t.Errorf("%v is blamed for a fault of csiglab", f)
	}
}
