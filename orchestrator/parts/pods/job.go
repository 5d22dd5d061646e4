package pods

import (
	"net"
	"strconv"
	"time"

	jobs "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batch "k8s.io/client-go/applyconfigurations/batch/v1"
	core "k8s.io/client-go/applyconfigurations/core/v1"
	meta "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/csiglab/csiglab/orchestrator/backend"
	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/labs/runs"
	"github.com/csiglab/csiglab/orchestrator/parts"
)

// Ends of the Job of a run whose csiglab has died. Its shards end by themselves before, as
// their connections end.
const (
	longestRun = 24 * time.Hour
	longestLab = 7 * 24 * time.Hour
	keptFor    = 10 * time.Minute // once it has ended
)

// What a shard asks for: a processor in part, and memory for itself and each of its nodes.
const (
	processor   = "500m"
	ownMemory   = 128 << 20
	memoryANode = 24 << 20
)

// Folders of a pod.
const (
	runFolder  = cluster.WorkFolder + "/run"
	listFolder = cluster.TmpFolder + "/csiglab"
)

// wallCapabilities let a shard make tunnels in its pod, and a user namespace for its nodes.
var wallCapabilities = []string{"NET_ADMIN", "NET_RAW", "SETFCAP"}

// jobSpec returns the Job of a run in n parts, whose coordinator has a key.
func jobSpec(in *cluster.Cluster, r *backend.Run, of []int, n int, key parts.Key) *batch.JobSpecApplyConfiguration {
	args := []string{parts.Command, "--pod", "--key-digest", key.Digest(), "--listen", net.JoinHostPort("", strconv.Itoa(parts.PeerPort)), "--folder", runFolder}
	var capabilities []string
	longest := longestRun
	if r.Wall != nil {
		args, capabilities = append(args, "--tunnels"), wallCapabilities
	}
	if r.Held {
		longest = longestLab
	}
	most := 0
	for i := range n {
		most = max(most, count(of, i))
	}
	own := meta.LabelSelector().WithMatchLabels(map[string]string{cluster.LabelRun: r.ID})
	pod := in.PodSpec(r.Remote.Image, args, capabilities).
		WithTopologySpreadConstraints(core.TopologySpreadConstraint().
			WithMaxSkew(1).WithTopologyKey(corev1.LabelHostname).WithWhenUnsatisfiable(corev1.ScheduleAnyway).WithLabelSelector(own)).
		WithAffinity(core.Affinity().WithPodAntiAffinity(core.PodAntiAffinity().WithPreferredDuringSchedulingIgnoredDuringExecution(
			core.WeightedPodAffinityTerm().WithWeight(100).WithPodAffinityTerm(core.PodAffinityTerm().WithTopologyKey(corev1.LabelHostname).WithLabelSelector(own)))))
	pod.Containers[0].
		WithEnv(core.EnvVar().WithName(runs.EnvironmentList).WithValue(listFolder)).
		WithResources(core.ResourceRequirements().WithRequests(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(processor),
			corev1.ResourceMemory: *resource.NewQuantity(int64(ownMemory+most*memoryANode), resource.BinarySI),
		}))
	return batch.JobSpec().
		WithCompletions(int32(n)).WithParallelism(int32(n)).WithCompletionMode(jobs.IndexedCompletion).WithBackoffLimit(0).
		WithActiveDeadlineSeconds(int64(longest / time.Second)).WithTTLSecondsAfterFinished(int32(keptFor / time.Second)).
		WithTemplate(core.PodTemplateSpec().WithSpec(pod))
}
