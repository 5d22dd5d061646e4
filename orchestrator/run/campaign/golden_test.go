package campaign

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/internal/checkout"
	"github.com/csiglab/csiglab/orchestrator/experiment"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/plan"
)

// golden has the first 16 hexadecimal digits of the trace hash of each variant of the
// embedded experiments with seed 1. A change of a hash is a change of the events of a
// run or of their times: it needs its reason in docs/.
var golden = map[string]map[string]string{
	"link-failure": {
		"reps": "a9fa9412f5a6a442", "mixed": "afd2355004efdcf5", "csig": "a9b8bbfad48dae35",
		"reps8": "229850a845ddddfe", "mixed8": "48d126e8f796a082", "csig8": "042a11f32c5f6acd", "walk8": "df3085570bb32c6b",
		"repskept": "9c1bedb077a28831", "mixedkept": "b46b03c57a39d9d5", "csigkept": "845bf658ac85034f",
		"repsdown": "7799f4d9d16e5a20", "mixeddown": "ecda592dd6bed703", "csigdown": "ab9ed9c617dfaa2f",
	},
	"all-reduce": {
		"ring": "cded1ec8cf05c740", "ring1": "da4e0d35c89a511b", "halving": "8b26d2c441b4ee08", "halving1": "c9df8d6117d00413",
		"tree": "f1f039d99d5a0601", "tree1": "dd1fd4f73b38fdcc",
	},
	"last-hop":         {"keep": "88ef1e4badeb96eb", "move": "7439a13b65dc4d7c", "reps": "181735c53c749ea8", "mixed": "2402c259716b3e64"},
	"lb-shift":         {"before": "c26c923f4eef68f0", "after": "a178e0c398680dfd"},
	"three-flow":       {"baseline": "ad6260a3e74fd649", "csig": "3301291f0aa398ee", "csig-wide": "6802e865ed94dc80"},
	"one":              {"run": "44f868514577122f"},
	"bidir":            {"run": "15097148b798b244"},
	"pfc-incast":       {"trimmed": "3a4084b714a72472", "lossless": "034759bbad9f40fb", "apart": "14f998a962606a9c"},
	"incast":           {"run": "05068ff7daaeed14"},
	"all-to-all":       {"run": "6d286e7141e96420"},
	"dragonfly":        {"run": "55ac45731b53e54e"},
	"dragonfly-72":     {"run": "eada05b38254b31b"},
	"parking-lot":      {"swift": "91c0cbe6202c5a52", "nscc": "431fbe302fa5132e", "nscc-csig": "4fe35f495a9d77f8", "poseidon": "8692433c8c8cb18e", "six-hops": "e3ae36ca8e4785fd"},
	"validity":         {"alone": "f34238e286523211", "csig": "647e0d11e8cb7ce1"},
	"collective":       {"baseline": "e7e6e323a7996b73", "csig": "92ab40bfd9f4639b"},
	"chakra-ring":      {"packed": "c087936fc4379513", "spread": "335b860b07f8d316", "csig": "7ebd0f3046c18eb9"},
	"swift-fru":        {"swift": "f7dea751b846cb3b", "fru": "6b6e8eac0ece661f"},
	"training-step":    {"rails": "f7081964b7501765", "spread": "6ca2477a294415e2", "csig": "5b5d739f97a7b48a"},
	"pipeline":         {"alone": "07aea5a35b436ac6", "neighbour": "a4e9b328138fef18", "csig": "0d47e7bea07f79ab"},
	"moe":              {"even": "27044aa39e09381d", "skewed": "b2e83ec8b89a66c7", "csig": "baeaa7200c3ff5e8"},
	"table-1":          {"fair": "9a30c1c69bb94277", "unfair": "6a8db46d3d9dc313", "milder": "40ebbd39b6f6df25"},
	"adaptive":         {"fair": "bde4ed7628f379f8", "adaptive": "4dd2e6d8ac3783c1", "mltcp": "71bfdfdd10bb27cb", "csig": "59e51e2aec87a0d8", "unfit-fair": "32b404f58401ba21", "unfit-adaptive": "744b3cb0a688e4f1", "unfit-csig": "568524043228d65f"},
	"atlas":            {"run": "d4baeb28420c367e"},
	"fragmented":       {"nscc": "853359f3e7c869d8", "mixed": "3724bbc8224d12b4", "csig": "5774f9b669df42a3", "weighted": "b762fddc9d1e1ed3", "both": "998192ce422eecaa", "alone": "9135d4fec46e2af4"},
	"unfair-pair":      {"fair": "e50cba3471fc81ee", "unfair": "1691a5ec8a0011b1"},
	"te-loop":          {"ecmp": "71aa113b48171b95", "static": "71aa113b48171b95", "loop": "c7cab01e63b3272a"},
	"priorities":       {"fair": "1f4738908e2331db", "strict": "b4bf04dae1587457", "unfit-fair": "3e279ea386eaa129", "unfit-strict": "79cf6967ab26aecd"},
	"flow-scheduling":  {"together": "0ddda394a8d3c5c3", "offset": "d6732b81676ebad2", "scheduled": "490859463fa129a9", "unfit": "82b2eb6f55f44b72", "turns": "eba1a60ca285e087"},
	"cluster-rotation": {"together": "9e78c9f81e4cd4a4", "rotated": "8d5dcaefc48c166f"},
	"dragonfly-delay":  {"swift": "36c8f8d3fd32d11f", "auto": "47b233c6c08149c6", "even": "45c46b5fdabb47e4", "poseidon": "58eb1611fd2429e6", "nscc": "a4de5240bbbedb1e", "csig": "6e60589dd7dc29a0"},
}

// goldenEnd cuts off the runs of experiments that take long.
var goldenEnd = map[string]string{
	"priorities": "400ms", "flow-scheduling": "560ms", "cluster-rotation": "450ms",
	"adaptive": "150ms", "table-1": "330ms", "unfair-pair": "150ms", "training-step": "3200us", "moe": "2ms", "pipeline": "3ms", "collective": "500us", "validity": "1200us", "all-reduce": "100us", "swift-fru": "3ms"}

// noHash lists the embedded experiments without a trace hash: they run unmodified
// programs under clock wall, and no two runs have the same events.
var noHash = []string{"iperf3"}

// slowGolden is the experiment that -short leaves out.
const slowGolden = "dragonfly-72"

// shortened returns the settings that cut off an embedded experiment.
func shortened(name string) []string {
	if end, ok := goldenEnd[name]; ok {
		return []string{"end=" + end}
	}
	return nil
}

// TestGoldenTraceHashes runs the embedded experiments. Each run is valid, has the trace hash in
// golden, and the metrics that its plan declares.
func TestGoldenTraceHashes(t *testing.T) {
	checkout.SkipSlowRace(t)
	listed := slices.Sorted(maps.Keys(golden))
	for _, name := range experiment.Names() {
		if slices.Contains(listed, name) == slices.Contains(noHash, name) {
			t.Errorf("the embedded experiment %s belongs in one of golden and noHash", name)
		}
	}
	families, ran := map[string]bool{}, 0
	for _, name := range listed {
		t.Run(name, func(t *testing.T) {
			if name == slowGolden {
				checkout.SkipLong(t)
			}
			set, dir := load(t, name, append(shortened(name), "seeds=[1]")...), filepath.Join(t.TempDir(), "run")
			result, err := Run(context.Background(), set, Options{Out: dir, Runtime: runtimes.Inproc, Clock: runtimes.Virtual})
			if err != nil {
				t.Fatal(err)
			}
			if !result.Summary.Valid {
				t.Errorf("not valid: %q", result.Summary.Reasons)
			}
			got := map[string]string{}
			for variant, v := range result.Summary.Variants {
				if len(v.Runs) != 1 || v.Runs[0].Seed != 1 {
					t.Fatalf("variant %s has %d runs, want one of seed 1", variant, len(v.Runs))
				}
				got[variant] = v.TraceHash[:16]
			}
			if !maps.Equal(got, golden[name]) {
				t.Errorf("trace hashes: got %v, want %v", got, golden[name])
			}
			metrics := map[string]map[string]float64{} // by variant
			for row, err := range open(t, dir).Metrics() {
				if err != nil {
					t.Fatal(err)
				}
				if metrics[row.Variant] == nil {
					metrics[row.Variant] = map[string]float64{}
				}
				metrics[row.Variant][row.Name] = row.Value
				family, _, _ := strings.Cut(row.Name, ".")
				families[family] = true
			}
			for _, v := range set.Variants {
				p, err := plan.Compile(v.Experiment, 1)
				if err != nil {
					t.Fatal(err)
				}
				for _, d := range v.Experiment.Derived {
					delete(metrics[v.Name], d.Name) // which is of the experiment
				}
				checkNames(t, p, metrics[v.Name])
			}
			ran++
		})
	}
	for _, family := range []string{"fct_us", "rate_gbps", "cc_share", "csig_delay_us", "samples", "tags", "target_qdelay_us"} {
		if ran == len(listed) && !families[family] {
			t.Errorf("no embedded experiment has %s", family)
		}
	}
}
