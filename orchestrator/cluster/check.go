package cluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
)

// levelLabel is the label of a namespace that names its PodSecurity level (Pod Security
// Admission).
const levelLabel = "pod-security.kubernetes.io/enforce"

// Finding is one line about a cluster.
type Finding struct {
	Name     string
	OK       bool
	Optional bool // csiglab works without it
	Detail   string
	Fix      string // what to do; empty where OK
}

// oldest is the first version of Kubernetes with limits of retries by index and policies of
// pod replacement in Jobs (kubernetes.io/docs/concepts/workloads/controllers/job).
var oldest = version.MustParseGeneric("1.29.0")

// Check returns what csiglab needs of a cluster and its namespace, a line each: the server's
// version, the user's rights, quotas and limits that leave no room for a pod, and the
// PodSecurity level. It makes nothing in the cluster. Whether pods can start, and what the
// nodes permit them, only a pod can find out.
func (c *Cluster) Check(ctx context.Context) []Finding {
	list := []Finding{c.checkServer()}
	space, level := c.checkNamespace(ctx)
	list = append(list, space)
	if !space.OK {
		return list
	}
	for _, r := range rights {
		list = append(list, c.checkRights(ctx, r))
	}
	return append(list, c.checkQuotas(ctx), c.checkLimits(ctx), level)
}

func (c *Cluster) checkServer() Finding {
	f := Finding{Name: "server", OK: true, Detail: fmt.Sprintf("%s, Kubernetes %s, context %s", c.Server, c.Version, cmp.Or(c.Context, "of this pod"))}
	v, err := version.ParseGeneric(c.Version)
	if err != nil || v.LessThan(oldest) {
		f.OK, f.Fix = false, fmt.Sprintf("Jobs need Kubernetes %s or newer", oldest)
	}
	return f
}

// unread fills in a finding about what was not read: no fault where this user may not read it.
func (c *Cluster) unread(f *Finding, what string, err error) {
	if apierrors.IsForbidden(err) {
		f.Detail = "not known: this user may not read them; the pod of image shows it"
		return
	}
	f.OK, f.Detail, f.Fix = false, c.explain("read "+what, err).Error(), "look into the server's log"
}

// checkNamespace looks for the namespace and its PodSecurity level. Many users may not read
// namespaces; then neither is known.
func (c *Cluster) checkNamespace(ctx context.Context) (space, level Finding) {
	space = Finding{Name: "namespace", OK: true, Detail: c.Namespace}
	level = Finding{Name: "PodSecurity", OK: true}
	asked, cancel := call(ctx)
	defer cancel()
	n, err := c.client.CoreV1().Namespaces().Get(asked, c.Namespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		space.OK, space.Detail = false, "there is no namespace "+c.Namespace
		space.Fix = fmt.Sprintf("kubectl create namespace %s, or name another one with --namespace", c.Namespace)
	case apierrors.IsForbidden(err):
		level.Detail = "not known: this user may not read the namespace; the pod of image shows it"
	case err != nil:
		c.unread(&space, "namespace "+c.Namespace, err)
	case n.Status.Phase == corev1.NamespaceTerminating:
		space.OK, space.Detail, space.Fix = false, c.Namespace+" is being removed", "name another one with --namespace"
	default:
		c.checkLevel(&level, n.Labels[levelLabel])
	}
	return space, level
}

// checkLevel fills in what a PodSecurity level forbids.
func (c *Cluster) checkLevel(level *Finding, name string) {
	switch name {
	case "":
		level.Detail = "the namespace has none of its own"
	case "privileged":
		level.Detail = name
	case "baseline":
		level.Detail = "baseline, which permits sweeps and lockstep; clock wall over machines needs NET_ADMIN and NET_RAW, which it forbids"
	default:
		level.OK, level.Detail = false, name+", which forbids pods without the seccomp profile RuntimeDefault, and that forbids user namespaces"
		level.Fix = fmt.Sprintf("kubectl label --overwrite namespace %s %s=baseline, or use another namespace", c.Namespace, levelLabel)
	}
}

// right is a right on resources, such as jobs.batch and pods/log.
type right struct{ resource, verbs string }

// rightsFor are the rights that one thing needs.
type rightsFor struct {
	name, detail string
	optional     bool
	of           []right
	everywhere   bool // not of a namespace
}

var rights = []rightsFor{
	{name: "rights to make Jobs", detail: "Jobs and ConfigMaps can be made and removed", of: []right{
		{"jobs.batch", "create patch get list watch delete"}, {"configmaps", "create patch list delete"}}},
	{name: "rights to follow pods", detail: "pods and their logs can be read, and pods removed", of: []right{
		{"pods", "get list watch delete"}, {"pods/log", "get"}}},
	{name: "rights to end pods", detail: "pods of nodes that are gone run again on others", optional: true, of: []right{{"pods/status", "patch"}}},
	{name: "rights to connect to pods", detail: "ports of pods can be forwarded, for fabrics over machines", of: []right{{"pods/portforward", "get create"}}},
	{name: "rights to enter pods", detail: "programs can be run in pods, for csiglab exec and capture in labs", optional: true, of: []right{{"pods/exec", "get create"}}},
	{name: "rights to keep credentials", detail: "Secrets can be made and removed, for --results s3://", optional: true, of: []right{{"secrets", "create patch list delete"}}},
	{name: "rights to read events", detail: "messages say why pods are not made", optional: true, of: []right{{"events", "list"}}},
	{name: "rights to read nodes", detail: "pods of nodes that are gone are found at once", optional: true, everywhere: true, of: []right{{"nodes", "get list"}}},
}

// checkRights asks the server for each right of the user.
func (c *Cluster) checkRights(ctx context.Context, r rightsFor) Finding {
	f := Finding{Name: r.name, OK: true, Optional: r.optional, Detail: r.detail}
	where, create := " in namespace "+c.Namespace, "-n "+c.Namespace+" create role"
	if r.everywhere {
		where, create = "", "create clusterrole"
	}
	var lacks, commands []string
	for _, of := range r.of {
		var verbs []string
		for verb := range strings.FieldsSeq(of.verbs) {
			allowed, err := c.may(ctx, of.resource, verb, r.everywhere)
			if err != nil {
				f.OK, f.Detail, f.Fix = false, err.Error(), "ask the cluster's administrator"
				return f
			}
			if !allowed {
				verbs = append(verbs, verb)
			}
		}
		if len(verbs) > 0 {
			lacks = append(lacks, fmt.Sprintf("%s %s", strings.Join(verbs, ", "), strings.TrimSuffix(of.resource, ".batch")))
			commands = append(commands, fmt.Sprintf("kubectl %s NAME --verb=%s --resource=%s", create, strings.ReplaceAll(of.verbs, " ", ","), of.resource))
		}
	}
	if len(lacks) > 0 {
		f.OK, f.Detail = false, fmt.Sprintf("this user may not %s%s", strings.Join(lacks, "; "), where)
		f.Fix = "let the administrator bind the user to a role: " + strings.Join(commands, "; ")
	}
	return f
}

// may asks whether the user has a right.
func (c *Cluster) may(ctx context.Context, resource, verb string, everywhere bool) (bool, error) {
	asked, cancel := call(ctx)
	defer cancel()
	of := schema.ParseGroupResource(resource)
	attributes := &authorization.ResourceAttributes{Namespace: c.Namespace, Verb: verb, Group: of.Group}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(of.Resource, "/")
	if everywhere {
		attributes.Namespace = ""
	}
	review := &authorization.SelfSubjectAccessReview{Spec: authorization.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
	answer, err := c.client.AuthorizationV1().SelfSubjectAccessReviews().Create(asked, review, metav1.CreateOptions{})
	if err != nil {
		return false, c.explain("ask for the user's rights", err)
	}
	return answer.Status.Allowed, nil
}

// least is what a small pod of csiglab asks for; a quota that leaves less has no room.
var least = map[corev1.ResourceName]resource.Quantity{
	"pods": resource.MustParse("1"), "count/pods": resource.MustParse("1"), "count/jobs.batch": resource.MustParse("1"),
	"configmaps": resource.MustParse("1"), "count/configmaps": resource.MustParse("1"),
	"cpu": resource.MustParse("100m"), "requests.cpu": resource.MustParse("100m"),
	"memory": resource.MustParse("128Mi"), "requests.memory": resource.MustParse("128Mi"),
	"limits.memory": resource.MustParse("128Mi"), "limits.cpu": resource.MustParse("100m"),
}

// checkQuotas compares what the quotas of the namespace have left with what a pod needs.
func (c *Cluster) checkQuotas(ctx context.Context) Finding {
	f := Finding{Name: "quotas", OK: true}
	asked, cancel := call(ctx)
	defer cancel()
	list, err := c.client.CoreV1().ResourceQuotas(c.Namespace).List(asked, metav1.ListOptions{})
	if err != nil {
		c.unread(&f, "quotas", err)
		return f
	}
	var short, left []string
	for _, q := range list.Items {
		if otherScope(q.Spec) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(q.Spec.Hard)) {
			hard, used := q.Spec.Hard[name], q.Status.Used[name]
			rest := hard.DeepCopy()
			if rest.Sub(used); rest.Sign() < 0 {
				rest = resource.Quantity{}
			}
			need, counts := least[name]
			switch {
			case !counts:
			case rest.Cmp(need) < 0:
				short = append(short, fmt.Sprintf("quota %s has %s of %s left, %s of %s are used", q.Name, rest.String(), name, used.String(), hard.String()))
			default:
				left = append(left, fmt.Sprintf("%s %s", rest.String(), name))
			}
		}
	}
	switch {
	case len(short) > 0:
		f.OK, f.Detail = false, strings.Join(short, "; ")
		f.Fix = "remove what is not needed any more (csiglab clean --on kubernetes), have the quota raised, or use another namespace"
	case len(left) > 0:
		f.Detail = "left are " + strings.Join(left, ", ")
	default:
		f.Detail = "none"
	}
	return f
}

// otherScope reports whether a quota does not count csiglab's pods.
func otherScope(s corev1.ResourceQuotaSpec) bool {
	others := []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeCrossNamespacePodAffinity}
	return s.ScopeSelector != nil || slices.ContainsFunc(s.Scopes, func(scope corev1.ResourceQuotaScope) bool { return slices.Contains(others, scope) })
}

// checkLimits looks for LimitRanges whose largest pod or container is smaller than csiglab's.
func (c *Cluster) checkLimits(ctx context.Context) Finding {
	f := Finding{Name: "limits of pods", OK: true, Detail: "none that are too low"}
	asked, cancel := call(ctx)
	defer cancel()
	list, err := c.client.CoreV1().LimitRanges(c.Namespace).List(asked, metav1.ListOptions{})
	if err != nil {
		c.unread(&f, "limits", err)
		return f
	}
	var short []string
	for _, r := range list.Items {
		for _, item := range r.Spec.Limits {
			if item.Type != corev1.LimitTypePod && item.Type != corev1.LimitTypeContainer {
				continue
			}
			for _, name := range slices.Sorted(maps.Keys(item.Max)) {
				most := item.Max[name]
				if need, counts := least[name]; counts && most.Cmp(need) < 0 {
					short = append(short, fmt.Sprintf("LimitRange %s lets a %s have %s of %s at most", r.Name, strings.ToLower(string(item.Type)), most.String(), name))
				}
			}
		}
	}
	if len(short) > 0 {
		f.OK, f.Detail, f.Fix = false, strings.Join(short, "; "), "have it raised, or use another namespace"
	}
	return f
}

// Nodes returns how many nodes take pods, and 0 where this user may not read nodes.
func (c *Cluster) Nodes(ctx context.Context) int {
	asked, cancel := call(ctx)
	defer cancel()
	list, err := c.client.CoreV1().Nodes().List(asked, metav1.ListOptions{})
	if err != nil {
		return 0
	}
	n := 0
	for _, node := range list.Items {
		if ready(&node) && !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
			return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
		}) {
			n++
		}
	}
	return n
}
