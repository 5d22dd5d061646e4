package experiment

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/units"
)

// with puts lines below the name of the experiment small.
func with(lines string) string {
	return strings.Replace(small, "name: small\n", "name: small\n"+lines, 1)
}

// transfers puts lines in place of the transfers of small, the first of which is line 12.
func transfers(lines string) string {
	before, _, _ := strings.Cut(small, "    - 1 -> 2")
	return before + lines
}

// strictCase is a wrong input and the whole message that must come of it. An empty text
// is small.
type strictCase struct {
	name     string
	text     string
	set, env []string
	variants []string
	want     string
}

// TestOverridesActOrAreErrors has the overrides that once had no effect and no message,
// and mistakes in them.
func TestOverridesActOrAreErrors(t *testing.T) {
	t.Parallel()
	runStrict(t, []strictCase{
		{name: "typo in a variant given whole", set: []string{"variants={a: {}, b: {hosts.lb.nam: single}}"},
			want: `--set variants={a: {}, b: {hosts.lb.nam: single}}: variants.b.hosts.lb.nam: mixed has no such parameter (did you mean "name"?)`},
		{name: "typo in a value of all variants", set: []string{"variants={a: {}, b: {hosts.lb.name: singel}}"},
			want: `--set variants={a: {}, b: {hosts.lb.name: singel}}: variants.b.hosts.lb.name: unknown algorithm "singel"; known: mixed single tagged (did you mean "single"?)`},
		{name: "typo in one variant", set: []string{"variants.b={links.mtuu: 1kB}"},
			want: `--set variants.b={links.mtuu: 1kB}: variants.b.links.mtuu: unknown key "mtuu" (did you mean "mtu"?)`},
		{name: "variants in brackets", set: []string{"variants[run].links.mtu=1kb"},
			want: `--set variants[run].links.mtu=1kb: variants.run.links.mtu: size "1kb": unknown unit "kb"; use one of TB GB MB kB B GiB MiB KiB (did you mean "1kB"?)`},
		{name: "no variants at all", set: []string{"variants=single"},
			want: `--set variants=single: variants: want a mapping from each variant's name to its overrides, got a single value`},
		{name: "bad name of a variant", set: []string{"variants.B={links.mtu: 1kB}"},
			want: `--set variants.B={links.mtu: 1kB}: variants.B: "B" is not up to 64 of a-z 0-9 and -`},
		{name: "value for a variant", set: []string{"variants.run=fast"},
			want: `--set variants.run=fast: variants.run: want a mapping from paths to values, got a single value`},
		{name: "variant that changes nothing", set: []string{"variants.run={}"},
			want: `--set variants.run={}: variants.run: an empty mapping changes nothing; the variant run is there already`},
		{name: "seeds of one variant", set: []string{"variants.run.seeds=[7]"},
			want: `--set variants.run.seeds=[7]: variants.run.seeds: a variant cannot change seeds, which all variants share`},
		{name: "variant that is replaced", set: []string{"variants.run.links.mtu=1kB", "variants={a: {}}"},
			want: `--set variants.run.links.mtu=1kB: variants.run.links.mtu: has no effect: --set variants={a: {}} comes later and replaces all variants`},
		{name: "variants that an expectation misses", text: with("variants: {on: {}, off: {}}\nexpect: [on.x < off.x]\n"), set: []string{"variants={on: {}}"},
			want: `x.yaml:4:17: expect[0]: unknown variant "off"; known: on`},
		{name: "parameter before its algorithm", set: []string{"hosts.cc.gain=0.5", "hosts.cc=swift"},
			want: `--set hosts.cc.gain=0.5: hosts.cc.gain: has no effect: --set hosts.cc=swift comes later and replaces it`},
		{name: "parameter before its algorithm's name", set: []string{"hosts.cc.gain=0.5", "hosts.cc.name=nscc"},
			want: `--set hosts.cc.gain=0.5: hosts.cc.gain: has no effect: --set hosts.cc.name=nscc comes later and replaces it`},
		{name: "variable of another algorithm", env: []string{"CSIGLAB_HOSTS_CC_GAIN=0.5"}, set: []string{"hosts.cc=swift"},
			want: `environment variable CSIGLAB_HOSTS_CC_GAIN: hosts.cc.gain: has no effect: --set hosts.cc=swift comes later and replaces it`},
		{name: "item of a list that is replaced", set: []string{"workload.transfers.0.size=3MB", "workload.transfers=[1 -> 3 5MB]"},
			want: `--set workload.transfers.0.size=3MB: workload.transfers.0.size: has no effect: --set workload.transfers=[1 -> 3 5MB] comes later and replaces it`},
		{name: "kind that is replaced", set: []string{"workload.incast={fan_in: 2, size: 1MB}", "workload.permutation.size=1MB"},
			want: `--set workload.incast={fan_in: 2, size: 1MB}: workload.incast.fan_in: has no effect: --set workload.permutation.size=1MB comes later and replaces it`},
		{name: "two kinds at once", set: []string{"workload={incast: {fan_in: 2, size: 1MB}, permutation: {size: 1MB}}"},
			want: `--set workload={incast: {fan_in: 2, size: 1MB}, permutation: {size: 1MB}}: workload.permutation: excludes workload.incast; give one of them`},
		{name: "key of a kind that is not chosen", set: []string{"topology.k_ary.rate=50Gbps"},
			want: "--set topology.k_ary.rate=50Gbps: topology.k_ary: the key \"k\" is missing; topology.k_ary takes the place of topology.fat_tree\n" +
				`--set topology.k_ary.rate=50Gbps: topology.k_ary: the key "delay" is missing; topology.k_ary takes the place of topology.fat_tree`},
		{name: "item of a kind that is not chosen", text: with("generators: [{host: 1, to: 2, every: 1us, count: 9}]\n"), set: []string{"topology.k_ary.tiers.0.rate=50Gbps"},
			want: `--set topology.k_ary.tiers.0.rate=50Gbps: topology.k_ary.tiers.0: "0" is the index of an item, and topology.k_ary.tiers is no list here; give the whole list`},
		{name: "item beyond a list", set: []string{"workload.transfers.2=1 -> 3 1MB"},
			want: `--set workload.transfers.2=1 -> 3 1MB: workload.transfers.2: "2" is not one of the list's 2 items; the first is 0`},
		{name: "item of no list", set: []string{"capture.0=tor0-agg0"},
			want: `--set capture.0=tor0-agg0: capture.0: "0" is the index of an item, and capture is no list here; give the whole list`},
		{name: "nothing for a section", set: []string{"topology={}", "links={}"},
			want: "--set topology={}: topology: an empty mapping changes nothing\n--set links={}: links: an empty mapping changes nothing"},
		{name: "mistakes in several overrides", set: []string{"variants.rnu.links.mtu=1kB", "hosts.cx=nscc", "derived.0.name=x", "end=5"},
			want: "--set variants.rnu.links.mtu=1kB: variants.rnu.links.mtu: unknown variant \"rnu\"; known: run (did you mean \"run\"?)\n" +
				"--set derived.0.name=x: derived.0: \"0\" is the index of an item, and derived is no list here; give the whole list\n" +
				"--set hosts.cx=nscc: hosts.cx: unknown key \"cx\" (did you mean \"cc\"?)\n" +
				`--set end=5: end: duration "5": a unit is missing; write 5us, 5ms or another of ps ns us ms s min h`},
		{name: "variable of a variant", text: with("variants: {a: {}}\n"), env: []string{"CSIGLAB_VARIANTS_A_LINKS_TRIM=false"},
			want: `environment variable CSIGLAB_VARIANTS_A_LINKS_TRIM: a variable cannot change one variant alone (did you mean "--set variants.NAME.PATH=VALUE"?)`},
		{name: "variable of a list", env: []string{"CSIGLAB_CAPTURE=tor0-agg0"},
			want: `environment variable CSIGLAB_CAPTURE: capture is a list; a variable sets single values, and CSIGLAB_SEEDS (did you mean "--set capture=…"?)`},
		{name: "end of a variable's name", env: []string{"CSIGLAB_MIN_RTO=10us"},
			want: `environment variable CSIGLAB_MIN_RTO: sets nothing that an experiment has (did you mean "CSIGLAB_HOSTS_MIN_RTO"?)`},
		{name: "value twice in a variant", text: with("variants:\n  a:\n    links.mtu: 1kB\n    links: {mtu: 2kB}\n"),
			want: `x.yaml:5:5: variants.a.links.mtu: the value is given twice; the other is in line 6`},
		{name: "parameter before its algorithm in a variant", text: with("variants:\n  a:\n    hosts.cc.gain: 0.5\n    hosts.cc: nscc\n"),
			want: `x.yaml:5:5: variants.a.hosts.cc.gain: has no effect: hosts.cc, in line 6, comes later and replaces it`},
		{name: "nothing for a section of a variant", text: with("variants: {a: {links: {}}}\n"),
			want: `x.yaml:3:16: variants.a.links: an empty mapping changes nothing`},
		{name: "variant that is not there", text: with("variants: {on: {}, off: {}}\n"), variants: []string{"onn"},
			want: `--variant "onn": no such variant; known: on off (did you mean "on"?)`},
		{name: "variant chosen twice", text: with("variants: {on: {}, off: {}}\n"), variants: []string{"off", "off"},
			want: `--variant "off": the variant is given twice`},
		{name: "mistake in a variant that does not run", text: with("variants: {on: {}, off: {links.mtu: 5}}\n"), variants: []string{"on"},
			want: `x.yaml:3:37: variants.off.links.mtu: size "5": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB`},
	})
}

const notATransfer = ` is not a transfer; want SRC -> DST SIZE or SRC -> DST SIZE at TIME, or a mapping with src, dst and size`

// TestMistakesAreFoundTogether has files in which one mistake once hid another, and
// mistakes whose message did not say what to do.
func TestMistakesAreFoundTogether(t *testing.T) {
	t.Parallel()
	runStrict(t, []strictCase{
		{name: "short forms", text: transfers("    - 0->1 1 MB\n    - 0 -> 9 1MB\n    - 0 -> 2 1Mb\n    - 3 -> 3 1MB\n    - {src: 1, dest: 2, size: 1MB}\n"),
			want: `x.yaml:12:7: workload.transfers[0]: "0->1 1 MB"` + notATransfer + " (did you mean \"0 -> 1 1MB\"?)\n" +
				"x.yaml:13:7: workload.transfers[1].dst: no host 9; hosts go from 0 to 3\n" +
				"x.yaml:14:7: workload.transfers[2].size: size \"1Mb\": unknown unit \"Mb\"; use one of TB GB MB kB B GiB MiB KiB (did you mean \"1MB\"?)\n" +
				"x.yaml:15:7: workload.transfers[3]: host 3 cannot send to itself\n" +
				"x.yaml:16:16: workload.transfers[4].dest: unknown key \"dest\" (did you mean \"dst\"?)\n" +
				`x.yaml:16:8: workload.transfers[4]: the key "dst" is missing`},
		{name: "another arrow", text: transfers("    - h1 => h2 3mb @ 5 us\n"),
			want: `x.yaml:12:7: workload.transfers[0]: "h1 => h2 3mb @ 5 us"` + notATransfer + ` (did you mean "1 -> 2 3MB at 5us"?)`},
		{name: "a transfer without a size", text: transfers("    - 1 -> 2\n"),
			want: `x.yaml:12:7: workload.transfers[0]: "1 -> 2"` + notATransfer},
		{name: "seeds with a dash", text: with("seeds: 1-5\n"),
			want: `x.yaml:3:8: seeds: "1-5" is not a list of seeds; write [1, 2, 3] or 1..3, at most 10000 (did you mean "1..5"?)`},
		{name: "seeds without brackets", text: with("seeds: 3, 7\n"),
			want: `x.yaml:3:8: seeds: "3, 7" is not a list of seeds; write [1, 2, 3] or 1..3, at most 10000 (did you mean "[3, 7]"?)`},
		{name: "blanks in a short form", text: with("csig: {init: 1 / 4}\n"),
			want: `x.yaml:3:14: csig.init: "1 / 4" is not every, none, 1/N (one packet of N, drawn), stride/N (every Nth) or 1/TIME (at most one in that time), or probe/TIME (probes of each flow) (did you mean "1/4"?)`},
		{name: "value in place of a list", text: with("capture: tor0-agg0\n"),
			want: `x.yaml:3:10: capture: want a list, got a single value (did you mean "[tor0-agg0]"?)`},
		{name: "range in a list", text: with("seeds: [1..3]\n"),
			want: `x.yaml:3:9: seeds[0]: "1..3" stands without brackets (did you mean "seeds: 1..3"?)`},
		{name: "links in other forms", text: with("capture: [tor0->agg0, agg0, tor0 - agg0]\n"),
			want: "x.yaml:3:11: capture[0]: \"tor0->agg0\" is not the name of a link, such as tor0-agg0 (did you mean \"tor0-agg0\"?)\n" +
				"x.yaml:3:23: capture[1]: \"agg0\" is not the name of a link, such as tor0-agg0\n" +
				`x.yaml:3:29: capture[2]: "tor0 - agg0" is not the name of a link, such as tor0-agg0 (did you mean "tor0-agg0"?)`},
		{name: "mistakes in several items", text: with("generators:\n  - {host: 1, to: 2, rate: 5, stak: x}\n  - 3 -> 1 5Gbps\n  - {host: 9, to: 2, every: 1us, count: 1}\n  - {host: 1, to: 1, every: 1us, count: 3}\n"),
			want: "x.yaml:4:28: generators[0].rate: rate \"5\": a unit is missing; write a number and one of Tbps Gbps Mbps kbps bps\n" +
				"x.yaml:4:31: generators[0].stak: unknown key \"stak\" (did you mean \"stack\"?)\n" +
				"x.yaml:5:5: generators[1]: want a mapping, got a single value; its keys: host to size count start every rate stack dscp paths\n" +
				"x.yaml:6:12: generators[2].host: no host 9; hosts go from 0 to 3\n" +
				"x.yaml:7:19: generators[3].to: host 1 cannot send to itself"},
		{name: "mistakes in rules and policies", text: with("csig:\n  format: compct\n  policies:\n    - {match: {src: 1}, init: none}\n    - {match: {src: [9]}, init: none}\n  ports:\n    - {switch: tor0}\n"),
			want: "x.yaml:4:11: csig.format: unknown value \"compct\"; known: none compact wide (did you mean \"compact\"?)\n" +
				"x.yaml:6:21: csig.policies[0].match.src: want a list, got a single value (did you mean \"[1]\"?)\n" +
				"x.yaml:7:22: csig.policies[1].match.src[0]: no host 9; hosts go from 0 to 3\n" +
				"x.yaml:9:8: csig.ports[0]: says nothing; want one of the keys policy, outside and init"},
		{name: "kind in place of a mapping", text: "schema: 1\nname: small\ntopology: k_ary\nworkload: {permutation: {size: 1MB}}\n",
			want: `x.yaml:3:11: topology: want a mapping, got a single value; its keys: ` + strings.Join(alternatives(topologySection), " ")},
		{name: "parameter of no algorithm", text: with("hosts: {cc: {name: nscc, format: compact}}\n"),
			want: `x.yaml:3:26: hosts.cc.format: nscc has no such parameter (did you mean "csig.format"?)`},
		{name: "a tab", text: with("links:\n\tmtu: 9000B\n"),
			want: `x.yaml:4:1: line 4 begins with a tab; YAML indents with blanks`},
		{name: "tabs behind blanks", text: with("links:\n  trim: true\n  \tmtu: 9000B\n\tqueue: 1MB\n"),
			want: `x.yaml:5:3: line 5 is indented with a tab, 1 more line too; YAML indents with blanks`},
		{name: "a tab within a value", text: with("measure: {from: 1\t0us}\ntie_seed: 1\t2\n"),
			want: "x.yaml:3:18: a tab within a value; write a blank\n" +
				"x.yaml:4:12: a tab within a value; write a blank"},
		{name: "a tab in quotes", text: with("description: \"é\tb\"\nlinks:\n  mtu: 9000B\n  trim: true\n"),
			want: "x.yaml:3:16: a tab within a value; write a blank"},
		{name: "tabs that are in no value", text: with("description: | # a\tcomment\n  a\tb\nlinks:\t{trim: true}\t# a\tcomment\ntie_seed:\t1\t\nmtu: 1B\n"),
			want: `x.yaml:7:1: mtu: unknown key "mtu" (did you mean "links.mtu"?)`},
		{name: "a tab in an override", text: with(""), set: []string{"measure.from=1\t0us"},
			want: "--set measure.from=1\t0us: a tab within a value; write a blank"},
		{name: "algorithm at the top", text: with("cc: nscc\n"),
			want: `x.yaml:3:1: cc: unknown key "cc" (did you mean "hosts.cc"?)`},
		{name: "key of two sections at the top", text: with("mtu: 9000B\n"),
			want: `x.yaml:3:1: mtu: unknown key "mtu" (did you mean "links.mtu"?)`},
		{name: "key of another topology at the top", text: with("k: 4\n"),
			want: `x.yaml:3:1: k: unknown key "k" (did you mean "topology.k_ary.k"?)`},
		{name: "key of the chosen topology at the top", text: with("rate: 5Gbps\n"),
			want: `x.yaml:3:1: rate: unknown key "rate" (did you mean "topology.fat_tree.tiers[].rate"?)`},
		{name: "key of several topologies", text: "schema: 1\nname: small\nrate: 5Gbps\nworkload: {permutation: {size: 1MB}}\n",
			want: "x.yaml:1:1: the key \"topology\" is missing\n" +
				`x.yaml:3:1: rate: unknown key "rate"; also possible: topology.k_ary.rate, topology.leaf_spine.rate, topology.dragonfly.rate, ` + fmt.Sprint(rated()-4) + ` more (did you mean "topology.fat_tree.tiers[].rate"?)`},
		{name: "parameter at the top", text: with("base_target: 20us\n"),
			want: `x.yaml:3:1: base_target: unknown key "base_target" (did you mean "hosts.cc.base_target"?)`},
		{name: "path with dots", text: with("links.ecn.low: 2kB\n"),
			want: `x.yaml:3:1: links.ecn.low: unknown key "links.ecn.low"; paths with dots are for variants and --set, in a file keys stand within each other (did you mean "links: {ecn: {low: 2kB}}"?)`},
		{name: "top key in a section", text: with("links: {seeds: [1]}\n"),
			want: `x.yaml:3:9: links.seeds: unknown key "seeds" here; it goes to the top level`},
		{name: "misspelt key of a section", text: with("min_rt0: 5us\n"),
			want: `x.yaml:3:1: min_rt0: unknown key "min_rt0" (did you mean "hosts.min_rto"?)`},
		{name: "number in place of a section", text: with("hosts: 4\n"),
			want: `x.yaml:3:8: hosts: want a mapping, got a single value (did you mean "topology.fat_tree.hosts"?)`},
		{name: "mistakes of all stages", text: with("name: twice\nlinks: {mtu: 9MB}\ndescription: *x\nvariants: {a: {seeds: 1}, b: {links.mtuu: 1kB}}\nmeasure: {from: 3ms, to: 2ms}\nexpect: [c.x < 1]\n"),
			want: "x.yaml:3:1: name: the key is given twice; the first is in line 2\n" +
				"x.yaml:4:14: links.mtu: 9MB is too large; the most is 65kB\n" +
				"x.yaml:5:14: description: the alias of YAML is not used here; write the value out\n" +
				"x.yaml:6:16: variants.a.seeds: a variant cannot change seeds, which all variants share\n" +
				"x.yaml:6:31: variants.b.links.mtuu: unknown key \"mtuu\" (did you mean \"mtu\"?)\n" +
				"x.yaml:7:26: measure.to: the window ends at 2ms, before it begins at 3ms\n" +
				`x.yaml:8:10: expect[0]: unknown variant "c"; known: a b`},
	})
}

// rated returns how many keys of the file are called rate.
func rated() (n int) {
	for _, k := range schema() {
		if _, name, _ := cutLast(k.path, "."); name == "rate" && k.path != "wall.budget.rate" {
			n++
		}
	}
	return n
}

func runStrict(t *testing.T, list []strictCase) {
	t.Helper()
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := load(c.text, c.set, Options{Tables: testTables(), Env: c.env, Variants: c.variants}); fmt.Sprint(err) != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// load parses a text, or small, with the values of --set.
func load(text string, set []string, opts Options) (*Set, error) {
	if text == "" {
		text = small
	}
	for _, s := range set {
		o, err := ParseSet("--set", s)
		if err != nil {
			return nil, err
		}
		opts.Override = append(opts.Override, o)
	}
	return Parse("x.yaml", "", []byte(text), opts)
}

// TestOverridesOfVariantsAct holds that overrides of all variants, of one, and of one
// that is new take effect, later ones over earlier ones.
func TestOverridesOfVariantsAct(t *testing.T) {
	t.Parallel()
	two := with("variants: {on: {links.mtu: 2kB}, off: {}}\n")
	for _, c := range []struct {
		text string
		set  []string
		want string // each variant's name, MTU and load balancing
	}{
		{small, []string{"variants={a: {}, b: {hosts.lb.name: single}}"}, "a 4.15kB mixed, b 4.15kB single"},
		{small, []string{"variants.b={hosts.lb: single}"}, "run 4.15kB mixed, b 4.15kB single"},
		{small, []string{"variants.run={links: {mtu: 1kB}}"}, "run 1kB mixed"},
		{two, []string{"variants={on: {}}"}, "on 4.15kB mixed"},
		{two, []string{"variants.on={hosts.lb: single}"}, "on 2kB single, off 4.15kB mixed"},
		{two, []string{"variants.new={}"}, "on 2kB mixed, off 4.15kB mixed, new 4.15kB mixed"},
		{two, []string{"links={mtu: 3kB}"}, "on 3kB mixed, off 3kB mixed"},
		{two, []string{"links.mtu=3kB", "variants.new={links.mtu: 1kB}"}, "on 3kB mixed, off 3kB mixed, new 1kB mixed"},
		{two, []string{"variants.new={links.mtu: 1kB}", "links.mtu=3kB"}, "on 3kB mixed, off 3kB mixed, new 3kB mixed"},
		{two, []string{"variants={a: {links.mtu: 1kB}}", "variants.a.hosts.lb=single"}, "a 1kB single"},
		{two, []string{"variants[on].links.mtu=1kB"}, "on 1kB mixed, off 4.15kB mixed"},
	} {
		set, err := load(c.text, c.set, Options{Tables: testTables()})
		if err != nil {
			t.Errorf("%q: %v", c.set, err)
			continue
		}
		var got []string
		for i, v := range set.Variants {
			got = append(got, fmt.Sprint(v.Name, " ", v.Experiment.Links.MTU, " ", v.Experiment.Hosts.LB.Name))
			if set.Base.Variants[i].Name != v.Name {
				t.Errorf("%q: the base names variant %s, want %s", c.set, set.Base.Variants[i].Name, v.Name)
			}
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("%q: got %s, want %s", c.set, got, c.want)
		}
		roundTrip(t, set, testTables())
	}
}

// TestShortFormsInOverrides holds that an item can be overridden by its short form.
func TestShortFormsInOverrides(t *testing.T) {
	set := parse(t, with("variants: {a: {workload.transfers.1: 2 -> 3 7MB}}\n"), "workload.transfers.0=3 -> 0 5MB at 2us")
	want := Transfers{{Src: 3, Dst: 0, Size: 5 * units.MB, Start: 2 * units.Microsecond}, {Src: 2, Dst: 3, Size: 7 * units.MB}}
	if diff := cmp.Diff(set.Variants[0].Experiment.Workload.Spec.(Transfers), want); diff != "" {
		t.Errorf("transfers, got - want +:\n%s", diff)
	}
}

// TestChosenVariants holds that the other variants go, and with them what is expected of
// them.
func TestChosenVariants(t *testing.T) {
	text := with(`variants: {on: {links.mtu: 2kB}, off: {}, odd: {}}
expect: [on.x < 3, on.x < off.x, 'm("odd", "x") > 1', 'every_seed(off["x"] > 0)', 'max(on.x, 2) < 9']
published:
  - {variant: on, metric: x, value: 1, low: 0, high: 2, source: y}
  - {variant: off, metric: x, value: 1, low: 0, high: 2, source: y}
robust:
  - {settings: [seeds], expect: [on.x < 3, on.x < off.x], except: ['*off*']}
  - {settings: [rtt x4], expect: [on.x < off.x]}
  - {settings: [rate x4], except: ['max*']}
`)
	set, err := load(text, nil, Options{Tables: testTables(), Variants: []string{"on"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Variants) != 1 || set.Variants[0].Name != "on" || len(set.Base.Variants) != 1 || set.Variants[0].Experiment.Links.MTU != 2000 {
		t.Errorf("variants: got %v of base %v, want on alone", set.Variants, set.Base.Variants)
	}
	for _, e := range []*Experiment{set.Base, set.Variants[0].Experiment} {
		if diff := cmp.Diff(e.Expect, []string{"on.x < 3", "max(on.x, 2) < 9"}); diff != "" {
			t.Errorf("expectations, got - want +:\n%s", diff)
		}
		promises := []Promise{{Settings: []string{"seeds"}, Expect: []string{"on.x < 3"}}, {Settings: []string{"rate x4"}, Except: []string{"max*"}}}
		if diff := cmp.Diff(e.Robust, promises); diff != "" {
			t.Errorf("promises, got - want +:\n%s", diff)
		}
		if len(e.Published) != 1 || e.Published[0].Variant != "on" {
			t.Errorf("published: got %v, want that of on", e.Published)
		}
	}
	want := []string{
		"skipped: expect[1], on.x < off.x, because variant off does not run",
		`skipped: expect[2], m("odd", "x") > 1, because variant odd does not run`,
		`skipped: expect[3], every_seed(off["x"] > 0), because variant off does not run`,
		"skipped: published[1], x of off, because variant off does not run",
	}
	if diff := cmp.Diff(set.Notes, want); diff != "" {
		t.Errorf("notes, got - want +:\n%s", diff)
	}
	roundTrip(t, &Set{Source: set.Source, Base: set.Base, Variants: set.Variants}, testTables())
}

// What is written of an embedded experiment with one of its variants, or with other expectations,
// is an experiment: runs of it can be resumed and repeated.
func TestReducedExperimentsAreWhole(t *testing.T) {
	for _, name := range Names() {
		whole, err := Load(name, Options{Tables: StandardTables()})
		if err != nil {
			t.Fatal(err)
		}
		last := whole.Variants[len(whole.Variants)-1].Name
		options := []Options{{Override: []Override{{Path: "expect", Value: "[1 < 2]"}}}}
		if len(whole.Base.Variants) > 0 {
			options = append(options, Options{Variants: []string{last}})
		}
		for _, o := range options {
			o.Tables = StandardTables()
			set, err := Load(name, o)
			if err != nil {
				t.Fatal(err)
			}
			text, err := set.Base.Marshal()
			if err == nil {
				_, err = Parse("written.yaml", ".", text, Options{Tables: StandardTables()})
			}
			if err != nil {
				t.Errorf("%s with %v %v: %v", name, o.Variants, o.Override, err)
			}
		}
	}
}

// TestSeedsGoOn holds that more seeds than the experiment has go on after its greatest.
func TestSeedsGoOn(t *testing.T) {
	for _, c := range []struct {
		seeds string
		n     int
		want  []uint64
	}{
		{"[4, 9, 2]", 2, []uint64{4, 9}}, {"[4, 9, 2]", 3, []uint64{4, 9, 2}}, {"[4, 9, 2]", 5, []uint64{4, 9, 2, 10, 11}},
		{"1..3", 4, []uint64{1, 2, 3, 4}}, {"[0]", 2, []uint64{0, 1}},
	} {
		set, err := load(with("seeds: "+c.seeds+"\n"), nil, Options{Tables: testTables(), Seeds: c.n})
		if err != nil {
			t.Errorf("%s, %d: %v", c.seeds, c.n, err)
			continue
		}
		if diff := cmp.Diff(set.Variants[0].Experiment.Seeds, c.want); diff != "" {
			t.Errorf("%s, %d: got - want +:\n%s", c.seeds, c.n, diff)
		}
	}
}
