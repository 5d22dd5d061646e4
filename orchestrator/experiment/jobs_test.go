package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/csiglab/csiglab/topologies"
	"github.com/csiglab/csiglab/units"
	"github.com/csiglab/csiglab/workloads/collective"
	"github.com/csiglab/csiglab/workloads/formats"
	"github.com/csiglab/csiglab/workloads/graph"
	"github.com/csiglab/csiglab/workloads/pipeline"
)

// TestWrongJobs has a mistake per entry, in the one item of jobs of an experiment with four
// hosts, and the whole message that must come of it.
func TestWrongJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, job, want string }{
		{"no kind", "name: a", `jobs[0]: one of these keys is missing: model, pipeline, profile, collective, trace`},
		{"two kinds", "name: a, collective: {}, pipeline: {}", `jobs[0].collective: excludes jobs[0].pipeline; give one of them`},
		{"no name", "collective: {}", `jobs[0]: the key "name" is missing`},
		{"name of a metric that nobody can write", "name: a_b, collective: {}", `jobs[0].name: "a_b" is not up to 64 of a-z 0-9 and -, the first a letter`},
		{"unknown kind", "name: a, colective: {}", `jobs[0].colective: unknown key "colective" (did you mean "collective"?)`},
		{"unknown collective", "name: a, collective: allreduce", `jobs[0].collective.kind: unknown value "allreduce"; known: all_reduce reduce_scatter all_gather all_to_all broadcast reduce gather scatter send_recv barrier (did you mean "all_reduce"?)`},
		{"algorithm of another collective", "name: a, collective: {kind: all_to_all, algorithm: tree}", `jobs[0].collective.algorithm: all_to_all has no algorithm "tree"; known: auto direct hierarchical`},
		{"groups that do not fit", "name: a, ranks: 4, collective: {groups: 3}", `jobs[0].collective.groups: 3 groups of the same size cannot have 4 ranks`},
		{"size without unit", "name: a, collective: {size: 1}", `jobs[0].collective.size: size "1": a unit is missing; write a number and one of TB GB MB kB B GiB MiB KiB`},
		{"more ranks than hosts", "name: a, ranks: 8, collective: {}", `jobs[0]: 8 ranks, the fabric has 4 hosts`},
		{"more ranks than places", "name: a, ranks: 9, ranks_per_host: 2, collective: {}", `jobs[0]: 9 ranks, the fabric has 4 hosts with 2 ranks each`},
		{"more ranks than hosts named", "name: a, ranks: 3, hosts: [0, 3], collective: {}", `jobs[0]: 3 ranks, hosts names 2`},
		{"no host", "name: a, hosts: [0..4], collective: {}", `jobs[0].hosts: no host 4; hosts go from 0 to 3`},
		{"not a host", "name: a, hosts: [h1], collective: {}", `jobs[0].hosts[0]: "h1" is no host; want a number such as 3, or a range such as 0..7`},
		{"hosts without brackets", "name: a, hosts: 0..3, collective: {}", `jobs[0].hosts: want a list, got a single value (did you mean "[0..3]"?)`},
		{"host twice", "name: a, hosts: [1, 1], placement: packed, collective: {}", `jobs[0].hosts: host 1 is given twice, which only placement given allows`},
		{"unknown placement", "name: a, placement: pack, collective: {}", `jobs[0].placement: unknown value "pack"; known: auto packed spread rail given (did you mean "packed"?)`},
		{"late", "name: a, start: 25h, collective: {}", `jobs[0].start: 25h is too large; the most is 86400s`},
		{"straggler of nothing", "name: a, profile: {}, stragglers: [{rank: 1}]", `jobs[0].stragglers[0]: want one of the keys slow and pause`},
		{"straggler without compute", "name: a, collective: {}, stragglers: [{rank: 1, slow: 0.1}]", `jobs[0]: jitter and stragglers are of jobs that compute: model, pipeline and profile`},
		{"trace of other ranks", "name: a, trace: {format: goal}", `jobs[0].trace: the key "file" is missing`},
		{"unknown format", "name: a, trace: {file: testdata/ring.goal, format: gaol}", `jobs[0].trace.format: unknown format "gaol"; known: auto FORMATS (did you mean "goal"?)`},
		{"straggler that there is not", "name: a, pipeline: {}, stragglers: [{rank: 4, slow: 0.2}]", `jobs[0].stragglers[0].rank: the job has no rank 4; ranks go from 0 to 3`},
		{"pause after the end", "name: a, steps: 2, profile: {}, stragglers: [{rank: 1, pause: 1ms, step: 2}]", `jobs[0].stragglers[0].step: the job has no step 2; steps go from 0 to 1`},
		{"negative jitter", "name: a, jitter: -0.1, profile: {}", `jobs[0].jitter: -0.1, want 0 to 10; 0.02 is 2 %`},
		{"slots without distance", "name: a, profile: {}, schedule: {period: 0s}", `jobs[0].schedule.period: 0s is too small; the least is 1us, or none`},
		{"offset without period", "name: a, profile: {}, schedule: {offset: 1ms}", `jobs[0].schedule.offset: needs schedule.period, the time from slot to slot`},
		{"offset beyond the period", "name: a, profile: {}, schedule: {period: 1ms, offset: 1ms}", `jobs[0].schedule.offset: 1ms is not below schedule.period, 1ms`},
		{"correction beyond the period", "name: a, pipeline: {}, schedule: {period: 1ms, correction: 2ms}", `jobs[0].schedule.correction: 2ms is longer than schedule.period, 1ms`},
		{"correction of nothing", "name: a, profile: {}, schedule: {period: 1ms, correction: 0s}", `jobs[0].schedule.correction: 0s holds no phase back; without schedule.period there are no slots`},
		{"schedule of a collective", "name: a, collective: {}, schedule: {period: 1ms}", `jobs[0].schedule: is for jobs whose steps compute: model, pipeline and profile`},
		{"schedule of a trace", "name: a, trace: testdata/ring.goal, schedule: {correction: 1ms}", `jobs[0].schedule: is for jobs whose steps compute: model, pipeline and profile`},
		{"stages and ranks", "name: a, ranks: 3, pipeline: {stages: 4}", `jobs[0].pipeline.stages: 4 stages are as many ranks, but the job's key ranks says 3`},
		{"unknown schedule", "name: a, pipeline: 1fb1", `jobs[0].pipeline.schedule: unknown value "1fb1"; known: 1f1b interleaved gpipe zb-h1 (did you mean "1f1b"?)`},
		{"chunks without interleaving", "name: a, pipeline: {chunks: 2}", `jobs[0].pipeline.chunks: 2, want 1 with schedule 1f1b: only interleaved has more`},
		{"microbatches of no whole group", "name: a, pipeline: {schedule: interleaved, chunks: 2, microbatches: 6, stages: 4}", `jobs[0].pipeline.microbatches: 6, want a multiple of the 4 stages with schedule interleaved`},
		{"order of a pipeline", "name: a, order: topology, pipeline: {}", `jobs[0].order: is for kind collective; with other kinds placement says which rank is where`},
		{"unknown model", "name: a, model: gpt-3", `jobs[0].model.preset: unknown value "gpt-3"; known: none llama3-8b llama3-70b llama3-405b gpt3-175b bert-large mixtral-8x7b gpt-tiny moe-tiny`},
		{"no model", "name: a, model: {layers: 2, hidden: 64, ffn: 64}", `jobs[0].model: without preset, heads, sequence are missing; presets: llama3-8b llama3-70b llama3-405b gpt3-175b bert-large mixtral-8x7b gpt-tiny moe-tiny`},
		{"more ranks of a model than hosts", "name: a, model: {preset: gpt-tiny, parallel: {tp: 2, pp: 2, dp: 2}}", `jobs[0]: tp 2 x pp 2 x dp 2 = 8 ranks, the fabric has 4 hosts`},
		{"a copy of the model is too large", "name: a, model: {preset: gpt-tiny, parallel: {tp: 4, pp: 2}}", `jobs[0]: tp 4 x pp 2 = 8 ranks, the fabric has 4 hosts`},
		{"ranks of a model", "name: a, ranks: 4, model: {preset: gpt-tiny, parallel: {tp: 2, dp: 1}}", `jobs[0].model.parallel: tp 2 = 2 ranks, but the job's key ranks says 4`},
		{"ranks that are no whole copies", "name: a, ranks: 3, model: {preset: gpt-tiny, parallel: {tp: 2}}", `jobs[0].model.parallel: tp 2 = 2 ranks do not divide the 3 of the job's key ranks`},
		{"heads that tp does not divide", "name: a, model: {preset: gpt-tiny, parallel: {tp: 3}}", `jobs[0].model.parallel.tp: 3, which does not divide the model's 4 heads`},
		{"experts of a model without", "name: a, model: {preset: gpt-tiny, parallel: {ep: 2}}", `jobs[0].model.parallel.ep: 2, but the model has no experts`},
		{"batch twice", "name: a, model: {preset: gpt-tiny, microbatches: 2, global_batch: 4}", `jobs[0].model.global_batch: excludes microbatches; give one of them`},
		{"batch that ranks do not divide", "name: a, model: {preset: gpt-tiny, parallel: {dp: 4}, global_batch: 6}", `jobs[0].model.global_batch: 6, which is no multiple of micro_batch times dp, 4`},
		{"skew without experts", "name: a, model: {preset: gpt-tiny, skew: 1}", `jobs[0].model.skew: the model has no experts`},
		{"more than all of the peak", "name: a, model: {preset: gpt-tiny, mfu: 40}", `jobs[0].model.mfu: 40, want above 0 and at most 1`},
		{"backward without forward", "name: a, model: {preset: gpt-tiny, backward: 1us}", `jobs[0].model.backward: needs forward`},
		{"scale above 1", "name: a, profile: {scale: 2}", `jobs[0].profile.scale: 2, want above 0 and at most 1`},
		{"scale of nothing", "name: a, profile: {scale: 0}", `jobs[0].profile.scale: 0, want above 0 and at most 1`},
		{"scale of no bytes", "name: a, profile: {bytes_scale: -0.0}", `jobs[0].profile.bytes_scale: -0, want above 0 and at most 1`},
		{"scale of no model", "name: a, model: {preset: gpt-tiny, scale: 0}", `jobs[0].model.scale: 0, want above 0 and at most 1`},
		{"unknown profile", "name: a, profile: vgg18", `jobs[0].profile.preset: unknown value "vgg18"; known: none vgg16 vgg19 resnet50 wideresnet101-2 bert-base bert-large dlrm bert-8 vgg19-1200 wideresnet-800 vgg16-1400 vgg19-1400 vgg16-1700 resnet50-1600 bert-8-g3 vgg19-1400-g3 wideresnet-800-g3 (did you mean "vgg16"?)`},
		{"pairs with an algorithm", "name: a, profile: {pairs: true, algorithm: tree}", `jobs[0].profile.pairs: messages have no algorithm, channels or chunks`},
	} {
		_, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs: [{"+c.job+"}]\n"), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), "x.yaml:4:") {
			t.Errorf("%s: error %v, want one in line 4", c.name, err)
			continue
		}
		if _, message, _ := strings.Cut(strings.TrimPrefix(err.Error(), "x.yaml:4:"), ": "); message != strings.Replace(c.want, "FORMATS", strings.Join(formats.Names(), " "), 1) {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, message, c.want)
		}
	}
}

const jobsOnly = "schema: 1\nname: jobs\ntopology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 1Gbps, delay: 1us}}\n"

// Two jobs are checked together.
func TestWrongPairsOfJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ first, second, want string }{
		{"name: a, collective: {}", "name: a, hosts: [3], collective: {}", `jobs[1].name: jobs[0] has the name "a" too`},
		{"name: a, collective: {}", "name: b, collective: {}", `jobs[1]: no host is left for job b: the other jobs have all 4; give ranks or hosts to some of them`},
		{"name: a, ranks: 2, collective: {}", "name: b, ranks: 3, collective: {}", `jobs[1]: 3 ranks, the other jobs leave 2 of 4 hosts`},
	} {
		_, err := Parse("x.yaml", "", []byte(jobsOnly+"jobs:\n  - {"+c.first+"}\n  - {"+c.second+"}\n"), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
}

// hostsOf returns the hosts of the ranks of each job on the fabric of a text.
func hostsOf(t *testing.T, text string) (hosts [][]int) {
	t.Helper()
	set, err := Parse("x.yaml", "", []byte("schema: 1\nname: jobs\n"+text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := set.Base.BuildJobs(built(t, set))
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Source.Ranks() != len(j.Hosts) {
			t.Errorf("job %s has programs of %d ranks and hosts of %d", j.Name, j.Source.Ranks(), len(j.Hosts))
		}
		hosts = append(hosts, j.Hosts)
	}
	return hosts
}

func built(t *testing.T, set *Set) *topologies.Graph {
	t.Helper()
	b, err := set.Base.Topology.Build()
	if err != nil {
		t.Fatal(err)
	}
	return b.Graph
}

const (
	racks = "topology: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 1Gbps, delay: 1us}}\n"
	rails = "topology: {rail: {servers: 4, nics: 2, group: 2, spines: 1, rate: 1Gbps, delay: 1us}}\n"
	// The hosts of this fabric are in racks by turns.
	turns = "topology: {graph: {rate: 1Gbps, delay: 1us, nodes: [{name: s, kind: switch}, {name: t, kind: switch}, {name: a}, {name: b}, {name: c}, {name: d}], " +
		"links: [{a: a, b: s}, {a: b, b: t}, {a: c, b: s}, {a: d, b: t}, {a: s, b: t}]}}\n"
)

func TestPlacement(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       [][]int
	}{
		{"every host", racks + "jobs: [{name: a, collective: {}}]", [][]int{{0, 1, 2, 3, 4, 5, 6, 7}}},
		{"the first free ones", racks + "jobs: [{name: a, ranks: 2, collective: {}}, {name: b, hosts: [1], ranks_per_host: 2, collective: {}}, {name: c, ranks: 3, collective: {}}]",
			[][]int{{0, 2}, {1, 1}, {3, 4, 5}}},
		{"two jobs on the same hosts", racks + "jobs: [{name: a, hosts: [0, 4], collective: {}}, {name: b, hosts: [4, 0], collective: {}}]", [][]int{{0, 4}, {4, 0}}},
		{"spread over racks", racks + "jobs: [{name: a, ranks: 4, placement: spread, collective: {}}, {name: b, ranks: 2, collective: {}}]", [][]int{{0, 4, 1, 5}, {2, 3}}},
		{"spread over what others leave", racks + "jobs: [{name: a, hosts: [0, 1, 4], collective: {}}, {name: b, placement: spread, collective: {}}]", [][]int{{0, 1, 4}, {2, 5, 3, 6, 7}}},
		{"ranks of a host", racks + "jobs: [{name: a, ranks: 5, ranks_per_host: 2, collective: {}}]", [][]int{{0, 0, 1, 1, 2}}},
		{"packed into racks", turns + "jobs: [{name: a, collective: {}}]", [][]int{{0, 2, 1, 3}}},
		{"given against the racks", turns + "jobs: [{name: a, hosts: [0..3], collective: {}}]", [][]int{{0, 1, 2, 3}}},
		{"packed although hosts are given", turns + "jobs: [{name: a, hosts: [3, 0..2], placement: packed, collective: {}}]", [][]int{{0, 2, 1, 3}}},
		{"a host twice", racks + "jobs: [{name: a, hosts: [5, 1, 5], placement: given, collective: {}}]", [][]int{{5, 1, 5}}},
		{"server after server", rails + "jobs: [{name: a, ranks: 6, collective: {}}]", [][]int{{0, 1, 2, 3, 4, 5}}},
		{"rail after rail", rails + "jobs: [{name: a, placement: rail, collective: {}}]", [][]int{{0, 2, 4, 6, 1, 3, 5, 7}}},
		{"servers over groups", rails + "jobs: [{name: a, placement: spread, collective: {}}]", [][]int{{0, 1, 4, 5, 2, 3, 6, 7}}},
	} {
		if diff := cmp.Diff(c.want, hostsOf(t, c.text)); diff != "" {
			t.Errorf("%s: hosts by rank (-want +got):\n%s", c.name, diff)
		}
	}
}

// What shows only when there is a fabric is an error then.
func TestJobsThatDoNotFitTheFabric(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{turns + "jobs: [{name: a, placement: rail, collective: {}}]", "jobs[0].placement: rail needs a fabric whose servers have several NICs, such as topology.rail"},
		{racks + "jobs: [{name: a, pipeline: {schedule: interleaved, chunks: 2, microbatches: 12}}]", "jobs[0].pipeline.microbatches: 12, want a multiple of the 8 stages with schedule interleaved"},
		{racks + "jobs: [{name: a, model: {preset: gpt-tiny, parallel: {tp: 2}, global_batch: 6}}]", "jobs[0].model.global_batch: 6, which is no multiple of micro_batch times dp, 4"},
		{racks + "jobs: [{name: a, collective: {algorithm: hierarchical, local: 3}}]", "jobs[0].collective: all_reduce by hierarchical of 8 ranks: inner groups of 3 ranks do not divide the group"},
	} {
		set, err := Parse("x.yaml", "", []byte("schema: 1\nname: jobs\n"+c.text), Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		if _, _, err = set.Base.BuildJobs(built(t, set)); err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %s", c.text, err, c.want)
		}
	}
}

// rings returns whom each rank of the only job sends to.
func rings(t *testing.T, text string) (to []int) {
	t.Helper()
	set, err := Parse("x.yaml", "", []byte("schema: 1\nname: jobs\n"+text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := set.Base.BuildJobs(built(t, set))
	if err != nil {
		t.Fatal(err)
	}
	var op graph.Op
	for r := range jobs[0].Source.Ranks() {
		for p := jobs[0].Source.Program(r, 1); p.Next(&op); {
			if op.Kind == graph.Send {
				to = append(to, int(op.Peer))
				break
			}
		}
	}
	return to
}

func TestOrderOfRings(t *testing.T) {
	t.Parallel()
	job := func(keys string) string { return "jobs: [{name: a, hosts: [0..3], " + keys + "}]" }
	for _, c := range []struct {
		name, text string
		want       []int
	}{
		{"given", turns + job("collective: {}"), []int{1, 2, 3, 0}},
		// Hosts 0 and 2 share a switch: the ring is 0, 2, 1, 3.
		{"topology", turns + job("order: topology, collective: {}"), []int{2, 3, 1, 0}},
		{"groups", racks + "jobs: [{name: a, collective: {groups: 2}}]", []int{1, 2, 3, 0, 5, 6, 7, 4}},
		{"strided groups", racks + "jobs: [{name: a, collective: {groups: 2, strided: true}}]", []int{2, 3, 4, 5, 6, 7, 0, 1}},
	} {
		if got := rings(t, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: ranks send to %v, want %v", c.name, got, c.want)
		}
	}
	first := rings(t, racks+"jobs: [{name: a, order: random, collective: {}}]")
	same := rings(t, racks+"jobs: [{name: a, order: random, collective: {}}]")
	other := rings(t, racks+"jobs: [{name: a, order: random, order_seed: 2, collective: {}}]")
	if !slices.Equal(first, same) || slices.Equal(first, other) {
		t.Errorf("order random sends to %v, %v again, and %v with another seed", first, same, other)
	}
}

// A text of an experiment with jobs is read back as the same, with variants that change
// parts of jobs.
func TestJobsRoundTrip(t *testing.T) {
	t.Parallel()
	set, err := Parse("x.yaml", "", []byte("schema: 1\nname: jobs\n"+racks+`
jobs:
  - name: a
    ranks: 4
    collective: {kind: all_to_all, chunk: 1MB}
    local: {rate: unlimited}
  - {name: b, pipeline: gpipe, jitter: 0.02, stragglers: [{rank: 1, slow: 0.2}, {rank: 2, pause: 5us}]}
variants:
  plain: {}
  tree: {jobs.0.collective: {kind: all_reduce, algorithm: tree}}
  reduce: {jobs.0.collective: all_reduce, jobs.1.pipeline.microbatches: 3}
  other: {jobs.1.collective.size: 1MB, jobs.1.jitter: 0, jobs.1.stragglers: []}
`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, set, Tables{})
	tree, reduce, other := set.Variants[1].Experiment.Jobs, set.Variants[2].Experiment.Jobs, set.Variants[3].Experiment.Jobs
	// The keys of a job do not belong to its kind's name: they stay.
	if c := tree[0].Spec.(CollectiveJob); c.Kind != collective.AllReduce || c.Algorithm != collective.Tree || c.Chunk != units.MB {
		t.Errorf("variant tree: %+v", c)
	}
	// A single value replaces the mapping, and a key is added to a single value.
	if c := reduce[0].Spec.(CollectiveJob); c.Kind != collective.AllReduce || c.Chunk != 0 {
		t.Errorf("variant reduce: %+v", c)
	}
	if p := reduce[1].Spec.(PipelineJob); p.Schedule != pipeline.GPipe || p.Microbatches != 3 {
		t.Errorf("variant reduce: %+v", p)
	}
	// Another kind takes the place of the first.
	if c, ok := other[1].Spec.(CollectiveJob); !ok || c.Size != units.MB {
		t.Errorf("variant other: %+v", other[1].Spec)
	}
}
