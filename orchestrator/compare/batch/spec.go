package batch

import (
	"fmt"
	"strconv"

	batchapi "k8s.io/api/batch/v1"
	coreapi "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	batchv1 "k8s.io/client-go/applyconfigurations/batch/v1"
	corev1 "k8s.io/client-go/applyconfigurations/core/v1"
	metav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/csiglab/csiglab/orchestrator/cluster"
	"github.com/csiglab/csiglab/orchestrator/compare/trial"
)

// part is what a Job of trials is of its run.
const part = "trials"

// Values of Jobs.
const (
	retries      = 2    // of a trial whose pod fails
	lostAfter    = 30   // seconds until pods leave a node that does not answer
	removedAfter = 3600 // seconds until the cluster removes a Job that has finished, if csiglab cannot
)

// Memory of pods. The margin is that of predictions (predict.Prediction.Fits); the rest is
// for csiglab in the pod, which reads the payload.
const (
	memoryMargin = 1.25
	memoryOfPod  = 64 << 20
	memoryStep   = 16 << 20
	leastMemory  = 128 << 20
	memoryBurst  = 2 // limit over request
)

// request returns the bytes of memory that a pod asks for.
func (n needs) request() int64 {
	bytes := int64(float64(n.memory)*memoryMargin) + memoryOfPod
	return max(leastMemory, (bytes+memoryStep-1)/memoryStep*memoryStep)
}

// limit returns the most bytes of memory that a pod may have.
func (n needs) limit() int64 { return memoryBurst*n.request() + leastMemory }

func quantity(bytes int64) resource.Quantity { return *resource.NewQuantity(bytes, resource.BinarySI) }

// parallelism returns how many pods of a Job of so many trials exist at a time.
func (r *Runner) parallelism(trials int, n needs) int {
	most := mostPods
	if r.Parallel > 0 {
		most = r.Parallel
	}
	if n.wall {
		most = 1
	}
	return min(most, trials)
}

// spec returns the Job of trials.
func (r *Runner) spec(run string, trials int, n needs) *batchv1.JobSpecApplyConfiguration {
	return batchv1.JobSpec().
		WithCompletionMode(batchapi.IndexedCompletion).
		WithCompletions(int32(trials)).
		WithParallelism(int32(r.parallelism(trials, n))).
		WithBackoffLimitPerIndex(retries).
		WithMaxFailedIndexes(int32(trials)). // one trial that fails does not end the others
		WithPodReplacementPolicy(batchapi.Failed).
		WithPodFailurePolicy(failurePolicy()).
		WithTTLSecondsAfterFinished(removedAfter).
		WithTemplate(corev1.PodTemplateSpec().WithSpec(r.pod(run, n)))
}

// failurePolicy says which pods are tried again, by their exit codes (docs/reference/run-folder.md#exit-codes). A pod
// that the cluster has ended does not count.
func failurePolicy() *batchv1.PodFailurePolicyApplyConfiguration {
	return batchv1.PodFailurePolicy().WithRules(
		batchv1.PodFailurePolicyRule().WithAction(batchapi.PodFailurePolicyActionIgnore).
			WithOnPodConditions(batchv1.PodFailurePolicyOnPodConditionsPattern().WithType(coreapi.DisruptionTarget).WithStatus(coreapi.ConditionTrue)),
		batchv1.PodFailurePolicyRule().WithAction(batchapi.PodFailurePolicyActionFailIndex).
			WithOnExitCodes(batchv1.PodFailurePolicyOnExitCodesRequirement().WithOperator(batchapi.PodFailurePolicyOnExitCodesOpIn).WithValues(1, 2)),
		batchv1.PodFailurePolicyRule().WithAction(batchapi.PodFailurePolicyActionCount).
			WithOnExitCodes(batchv1.PodFailurePolicyOnExitCodesRequirement().WithOperator(batchapi.PodFailurePolicyOnExitCodesOpIn).WithValues(3)),
	)
}

// pod returns the pod of a trial.
func (r *Runner) pod(run string, n needs) *corev1.PodSpecApplyConfiguration {
	name := cluster.JobName(run, part)
	spec := r.Cluster.PodSpec(r.Image, []string{trial.PodCommand}, nil)
	c := &spec.Containers[0]
	c.WithResources(corev1.ResourceRequirements().
		WithRequests(coreapi.ResourceList{coreapi.ResourceCPU: *resource.NewQuantity(int64(n.cores), resource.DecimalSI), coreapi.ResourceMemory: quantity(n.request())}).
		WithLimits(coreapi.ResourceList{coreapi.ResourceMemory: quantity(n.limit())}))
	if n.virtual { // which would use all cores of the node
		c.WithEnv(corev1.EnvVar().WithName("GOMAXPROCS").WithValue(strconv.Itoa(n.cores)))
	}
	mount := func(volume *corev1.VolumeApplyConfiguration, folder string, readOnly bool) {
		spec.WithVolumes(volume)
		c.WithVolumeMounts(corev1.VolumeMount().WithName(*volume.Name).WithMountPath(folder).WithReadOnly(readOnly))
	}
	mount(corev1.Volume().WithName("trials").WithConfigMap(corev1.ConfigMapVolumeSource().WithName(name)), payloadFolder, true)
	switch {
	case r.Results.Claim != "":
		mount(corev1.Volume().WithName("results").WithPersistentVolumeClaim(corev1.PersistentVolumeClaimVolumeSource().WithClaimName(r.Results.Claim)), resultsFolder, false)
	case r.Results.Bucket != "":
		mount(corev1.Volume().WithName("credentials").WithSecret(corev1.SecretVolumeSource().WithSecretName(name).WithDefaultMode(0o440)), credentialsFolder, true)
	}
	return spec.
		WithTolerations(
			lost(coreapi.TaintNodeNotReady), lost(coreapi.TaintNodeUnreachable)).
		WithTopologySpreadConstraints(corev1.TopologySpreadConstraint().
			WithMaxSkew(1).WithTopologyKey(coreapi.LabelHostname).WithWhenUnsatisfiable(coreapi.ScheduleAnyway).
			WithLabelSelector(metav1.LabelSelector().WithMatchLabels(map[string]string{batchapi.JobNameLabel: name})))
}

// lost says how long a pod stays on a node with a taint.
func lost(taint string) *corev1.TolerationApplyConfiguration {
	return corev1.Toleration().WithKey(taint).WithOperator(coreapi.TolerationOpExists).WithEffect(coreapi.TaintEffectNoExecute).WithTolerationSeconds(lostAfter)
}

// roomy returns bytes in words.
func roomy(bytes int64) string { return fmt.Sprintf("%d MiB", bytes>>20) }
