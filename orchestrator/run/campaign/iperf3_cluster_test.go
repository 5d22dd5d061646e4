//go:build cluster

package campaign

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/csiglab/csiglab/nodes/csig"
	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/experiment/runtimes"
	"github.com/csiglab/csiglab/orchestrator/parts/pods"
)

// Issue 16, must show 3: iperf3 on two machines of a cluster, over a link that is cut. TCP
// works in both directions, ABW and delay name the loaded uplink, and what lies between the
// machines is reported. CSIGLAB_KUBECONFIG is the cluster; its nodes have the image
// CSIGLAB_CLUSTER_LAB_IMAGE, which is that of csiglab image with iperf3 and its libraries.
func TestIperf3OnTwoMachines(t *testing.T) {
	Add(kubernetes.Runtime)
	file := os.Getenv("CSIGLAB_KUBECONFIG")
	if file == "" {
		t.Skip("needs a Kubernetes cluster: CSIGLAB_KUBECONFIG is not set")
	}
	t.Setenv("KUBECONFIG", file)
	image := cmp.Or(os.Getenv("CSIGLAB_CLUSTER_LAB_IMAGE"), "lab.invalid/csiglab:iperf3")
	set := load(t, "iperf3", append(short(), "runtime="+runtimes.Kubernetes)...)
	f, summary := runPrograms(t, set, Options{Shards: 2, Remote: backend.Remote{Image: image}})
	if t.Failed() {
		return
	}
	checkNaming(t, set, f, 0.3, 0.5) // what a busy machine, without real-time priority, still shows
	for _, name := range []string{"rate_gbps.h0-h2 app", "rate_gbps.h2-h0 app"} {
		if rate := summary.Variants["run"].Metrics[name]; rate <= 0 {
			t.Errorf("%s is %v", name, rate)
		}
	}
	run := f.Manifest.Runs[0]
	if run.Fidelity == nil || len(run.Fidelity.Underlay) != 1 {
		t.Fatalf("fidelity %+v, want one way between machines", run.Fidelity)
	}
	u := run.Fidelity.Underlay[0]
	t.Logf("%+v", u)
	_, a, _ := strings.Cut(u.A, " on ")
	_, b, _ := strings.Cut(u.B, " on ")
	if a == "" || a == b {
		t.Errorf("parts %q and %q are on one machine", u.A, u.B)
	}
	if u.RoundTripMin <= 0 || u.RoundTripUS < u.RoundTripMin || u.ClockErrorUS <= 0 || u.Link == "" || u.Share <= 0 {
		t.Errorf("way between the machines %+v", u)
	}
	if _, samples := named(t, set, f, csig.ABW, span{0, 1e9}); samples == 0 {
		t.Error("no sample of ABW")
	}
}
