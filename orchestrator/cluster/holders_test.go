package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/csiglab/csiglab/orchestrator/labs/runs"
)

// holdRole is a process of the tests that makes a Job in a namespace and waits.
const holdRole = "test-hold"

// hold makes a Job with a ConfigMap, says so and waits to be killed.
func hold(namespace string) error {
	ctx := context.Background()
	c, err := Connect(ctx, "", namespace)
	if err != nil {
		return err
	}
	job, err := c.Job(ctx, "f00d", "trials", indexed(2, c.PodSpec(testImage(), []string{"serve", "--listen", "127.0.0.1:7799"}, nil)))
	if err != nil {
		return err
	}
	if err := c.Config(ctx, job, map[string][]byte{"x": {1}}); err != nil {
		return err
	}
	if err := c.Secret(ctx, job, map[string][]byte{"y": {2}}); err != nil {
		return err
	}
	fmt.Println("made")
	select {}
}

// TestCleanOnCluster kills the process that holds a run (SIGKILL). Clean leaves the run alone
// as long as the process lives, and removes everything afterwards.
func TestCleanOnCluster(t *testing.T) {
	c := testCluster(t)
	holder := exec.Command(os.Args[0], holdRole, c.Namespace)
	holder.Stderr = os.Stderr
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	defer holder.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "made\n" {
		t.Fatalf("holder says %q, %v", line, err)
	}
	var said []string
	say := func(text string) { said = append(said, text) }
	if removed, err := c.Clean(t.Context(), "", Cleaner{Say: say}); len(removed) > 0 || err != nil {
		t.Errorf("of a process that lives: removed %v, %v", removed, err)
	}
	if want := fmt.Sprintf("process %d", holder.Process.Pid); len(said) != 1 || !strings.Contains(said[0], want) || !strings.Contains(said[0], "f00d") {
		t.Errorf("said %q, want the run and %s", said, want)
	}
	if _, err := c.Clean(t.Context(), "f00", Cleaner{}); !errors.Is(err, ErrRefused) {
		t.Errorf("by id, of a process that lives: %v, want %v", err, ErrRefused)
	}
	holder.Process.Kill()
	holder.Wait()
	removed, err := c.Clean(t.Context(), "", Cleaner{Say: say})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"Job/", "ConfigMap/", "Secret/"} {
		if !slices.ContainsFunc(removed, func(s string) bool { return strings.HasPrefix(s, kind) }) {
			t.Errorf("removed %q, want a %s", removed, kind)
		}
	}
	if found, err := c.Find(t.Context()); len(found) > 0 || err != nil {
		t.Errorf("left: %+v, %v", found, err)
	}
}

// TestCleanLeavesOthers holds what Clean does with runs of this machine and of others.
func TestCleanLeavesOthers(t *testing.T) {
	dead := runs.Self()
	dead.Ticks++ // another process had this PID
	there := func(run, owner, machine string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x-" + run, Namespace: "lab", Labels: labels(run, ""), Annotations: map[string]string{AnnotationOwner: owner, AnnotationMachine: machine}}}
	}
	for _, tt := range []struct {
		which   string
		how     Cleaner
		removed []string
		err     error
	}{
		{"", Cleaner{}, []string{"dead"}, nil},
		{"", Cleaner{All: true}, []string{"alive", "dead"}, nil},
		{"", Cleaner{Force: true}, []string{"dead", "other"}, nil},
		{"", Cleaner{All: true, Force: true}, []string{"alive", "dead", "other"}, nil},
		{"alive", Cleaner{}, nil, ErrRefused},
		{"alive", Cleaner{Force: true}, []string{"alive"}, nil},
		{"other", Cleaner{}, nil, ErrRefused},
		{"oth", Cleaner{Force: true}, []string{"other"}, nil},
		{"nobody", Cleaner{}, nil, nil},
		{"d", Cleaner{}, []string{"dead"}, nil},
	} {
		c := &Cluster{Namespace: "lab", times: defaultTimes(), client: fake.NewClientset(
			there("alive", runs.Self().String(), machine()), there("dead", dead.String(), machine()), there("other", dead.String(), "elsewhere/0123"))}
		removed, err := c.Clean(t.Context(), tt.which, tt.how)
		var ids []string
		for _, text := range removed {
			ids = append(ids, text[strings.LastIndex(text, " ")+1:])
		}
		if !slices.Equal(ids, tt.removed) || !errors.Is(err, tt.err) {
			t.Errorf("clean %q, %+v: removed %v, %v, want %v, %v", tt.which, tt.how, ids, err, tt.removed, tt.err)
		}
		found, err := c.Find(t.Context())
		if len(found) != 3-len(tt.removed) || err != nil {
			t.Errorf("clean %q, %+v: left %+v, %v", tt.which, tt.how, found, err)
		}
	}
}

// as returns a connection as the account "default" of the namespace, which pods have.
func as(t *testing.T, c *Cluster, account string) *Cluster {
	t.Helper()
	token, err := c.client.CoreV1().ServiceAccounts(c.Namespace).CreateToken(t.Context(), account, &authentication.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(c.config)
	config.BearerToken = token.Status.Token
	other := &Cluster{Context: c.Context, Namespace: c.Namespace, times: defaultTimes()}
	if err := other.use(config); err != nil {
		t.Fatal(err)
	}
	if err := other.reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	return other
}

// TestNoRightsOnCluster asks for a Job as a user without rights, and for what the account of
// the pods may do: nothing, even if a pod had its token.
func TestNoRightsOnCluster(t *testing.T) {
	c := testCluster(t)
	begun := time.Now()
	nobody := as(t, c, "default")
	_, err := nobody.Job(t.Context(), "0bad", "test", indexed(1, nobody.PodSpec(testImage(), nil, nil)))
	if !errors.Is(err, ErrForbidden) || !strings.Contains(err.Error(), `"jobs"`) || !strings.Contains(err.Error(), "csiglab doctor") {
		t.Errorf("make a Job: %v, want %v", err, ErrForbidden)
	}
	if _, err := nobody.Find(t.Context()); !errors.Is(err, ErrForbidden) {
		t.Errorf("find: %v, want %v", err, ErrForbidden)
	}
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	missing := map[string]string{}
	for _, f := range nobody.Check(t.Context()) {
		if !f.OK {
			missing[f.Name] = f.Detail + "; " + f.Fix
		}
	}
	for name, text := range map[string]string{"rights to make Jobs": "create, patch, get, list, watch, delete jobs", "rights to follow pods": "get pods/log", "rights to connect to pods": "--resource=pods/portforward"} {
		if !strings.Contains(missing[name], text) {
			t.Errorf("doctor about %s: %q, want %q in it", name, missing[name], text)
		}
	}
	for _, r := range []authorization.ResourceAttributes{
		{Verb: "get", Resource: "pods"}, {Verb: "list", Resource: "pods"}, {Verb: "create", Resource: "pods"}, {Verb: "create", Resource: "pods", Subresource: "exec"},
		{Verb: "get", Resource: "secrets"}, {Verb: "list", Resource: "secrets"}, {Verb: "get", Resource: "configmaps"}, {Verb: "create", Resource: "jobs", Group: "batch"},
		{Verb: "delete", Resource: "jobs", Group: "batch"}, {Verb: "*", Resource: "*", Group: "*"},
	} {
		r.Namespace = c.Namespace
		review := &authorization.SubjectAccessReview{Spec: authorization.SubjectAccessReviewSpec{User: "system:serviceaccount:" + c.Namespace + ":default", ResourceAttributes: &r}}
		answer, err := c.client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || answer.Status.Allowed {
			t.Errorf("account of pods: %s %s/%s: allowed %v, %v, want not", r.Verb, r.Resource, r.Subresource, answer.Status.Allowed, err)
		}
	}
}

// TestCheck holds what the doctor says of quotas, limits and levels.
func TestCheck(t *testing.T) {
	q := func(text string) resource.Quantity { return resource.MustParse(text) }
	quota := func(name, hard, used string) *corev1.ResourceQuota {
		r := corev1.ResourceName(name)
		return &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "lab"}, Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{r: q(hard)}},
			Status: corev1.ResourceQuotaStatus{Hard: corev1.ResourceList{r: q(hard)}, Used: corev1.ResourceList{r: q(used)}}}
	}
	for _, tt := range []struct {
		quota      *corev1.ResourceQuota
		level, max string
		finding    string
		ok         bool
		text       string
	}{
		{quota("pods", "10", "9"), "", "", "quotas", true, "1 pods"},
		{quota("pods", "10", "10"), "", "", "quotas", false, "quota q has 0 of pods left, 10 of 10 are used"},
		{quota("requests.cpu", "2", "1950m"), "", "", "quotas", false, "has 50m of requests.cpu left"},
		{quota("count/jobs.batch", "0", "0"), "", "", "quotas", false, "count/jobs.batch"},
		{quota("requests.storage", "0", "0"), "", "", "quotas", true, "none"},
		{nil, "restricted", "", "PodSecurity", false, "user namespaces"},
		{nil, "baseline", "", "PodSecurity", true, "baseline"},
		{nil, "", "64Mi", "limits of pods", false, "LimitRange r lets a container have 64Mi of memory"},
		{nil, "", "1Gi", "limits of pods", true, "none"},
	} {
		client := fake.NewClientset(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab", Labels: map[string]string{levelLabel: tt.level}}})
		if tt.quota != nil {
			client.Tracker().Add(tt.quota)
		}
		if tt.max != "" {
			client.Tracker().Add(&corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "r", Namespace: "lab"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: q(tt.max)}}}}})
		}
		c := &Cluster{Namespace: "lab", Version: "v1.34.4", client: client, times: defaultTimes()}
		i := slices.IndexFunc(c.Check(t.Context()), func(f Finding) bool { return f.Name == tt.finding })
		if i < 0 {
			t.Fatalf("no finding %q", tt.finding)
		}
		if f := c.Check(t.Context())[i]; f.OK != tt.ok || !strings.Contains(f.Detail, tt.text) || f.OK != (f.Fix == "") {
			t.Errorf("got %+v, want ok %v with %q", f, tt.ok, tt.text)
		}
	}
	old := &Cluster{Namespace: "nowhere", Version: "v1.27.1", client: fake.NewClientset(), times: defaultTimes()}
	if list := old.Check(t.Context()); len(list) != 2 || list[0].OK || list[1].OK || !strings.Contains(list[1].Fix, "kubectl create namespace nowhere") {
		t.Errorf("old server without the namespace: %+v", list)
	}
}
