package batch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The fields of a Job that decide what happens to trials, as the server gets them.
func TestSpec(t *testing.T) {
	l := newLab(t)
	r := l.runner(t)
	tree := func(trials int, n needs) map[string]any {
		text, err := json.Marshal(r.spec("sweep-x-1", trials, n))
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := json.Unmarshal(text, &tree); err != nil {
			t.Fatal(err)
		}
		return tree
	}
	at := func(tree any, path string) any {
		for _, name := range strings.Split(path, ".") {
			var i int
			if _, err := fmt.Sscan(name, &i); err == nil {
				if list, _ := tree.([]any); i < len(list) {
					tree = list[i]
				} else {
					tree = nil
				}
				continue
			}
			m, _ := tree.(map[string]any)
			tree = m[name]
		}
		return tree
	}
	const pod, main = "template.spec.", "template.spec.containers.0."
	virtual := tree(40, needs{cores: 1, memory: 100 << 20, virtual: true})
	for path, want := range map[string]any{
		"completionMode": "Indexed", "completions": 40.0, "parallelism": 40.0, "backoffLimitPerIndex": 2.0, "maxFailedIndexes": 40.0,
		"podReplacementPolicy": "Failed", "ttlSecondsAfterFinished": 3600.0, "backoffLimit": nil,
		"podFailurePolicy.rules": []any{
			map[string]any{"action": "Ignore", "onPodConditions": []any{map[string]any{"type": "DisruptionTarget", "status": "True"}}},
			map[string]any{"action": "FailIndex", "onExitCodes": map[string]any{"operator": "In", "values": []any{1.0, 2.0}}},
			map[string]any{"action": "Count", "onExitCodes": map[string]any{"operator": "In", "values": []any{3.0}}},
		},
		pod + "restartPolicy": "Never", pod + "automountServiceAccountToken": false, pod + "enableServiceLinks": false,
		pod + "securityContext.runAsNonRoot": true, pod + "securityContext.runAsUser": 1000.0,
		pod + "tolerations": []any{
			map[string]any{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30.0},
			map[string]any{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30.0},
		},
		pod + "topologySpreadConstraints": []any{map[string]any{"maxSkew": 1.0, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway",
			"labelSelector": map[string]any{"matchLabels": map[string]any{"batch.kubernetes.io/job-name": "csiglab-sweep-x-1-trials"}}}},
		main + "args": []any{"trial"}, main + "image": "lab.invalid/csiglab:1",
		main + "resources.requests":                  map[string]any{"cpu": "1", "memory": "192Mi"}, // 1.25 * 100 MiB + 64 MiB, in steps of 16 MiB
		main + "resources.limits":                    map[string]any{"memory": "512Mi"},
		main + "securityContext.capabilities.drop.0": "ALL", main + "securityContext.capabilities.add": nil,
		main + "securityContext.readOnlyRootFilesystem": true, main + "securityContext.allowPrivilegeEscalation": false,
		main + "env.2":          map[string]any{"name": "GOMAXPROCS", "value": "1"},
		pod + "volumes.2":       map[string]any{"name": "trials", "configMap": map[string]any{"name": "csiglab-sweep-x-1-trials"}},
		main + "volumeMounts.2": map[string]any{"name": "trials", "mountPath": "/trials", "readOnly": true},
		pod + "volumes.3":       nil,
	} {
		if got := at(virtual, path); !cmp.Equal(got, want) {
			t.Errorf("%s: %s", path, cmp.Diff(want, got))
		}
	}
	if got := at(tree(40, needs{cores: 2, memory: 1, wall: true}), "parallelism"); got != 1.0 {
		t.Errorf("in real time %v pods at a time", got)
	}
	if got := at(tree(4000, needs{cores: 1}), "parallelism"); got != 500.0 {
		t.Errorf("by itself %v pods at a time", got)
	}
	r.Parallel = 7
	if got := at(tree(40, needs{cores: 1}), "parallelism"); got != 7.0 {
		t.Errorf("with --parallel 7, %v pods at a time", got)
	}
	lockstep := tree(4, needs{cores: 1, memory: 1 << 20})
	if got := at(lockstep, main+"env.2"); got != nil {
		t.Errorf("lockstep: %v", got)
	}
	if got := at(lockstep, main+"resources.requests.memory"); got != "128Mi" {
		t.Errorf("a small run asks for %v", got)
	}
	r.Results = Results{Claim: "runs"}
	claim := tree(4, needs{cores: 1})
	if got, want := at(claim, pod+"volumes.3"), any(map[string]any{"name": "results", "persistentVolumeClaim": map[string]any{"claimName": "runs"}}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got, want := at(claim, main+"volumeMounts.3"), any(map[string]any{"name": "results", "mountPath": "/results", "readOnly": false}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	r.Results = Results{Bucket: "lab", credentials: map[string]string{keyVariable: "id-1", secretVariable: "secret-1"}}
	store := tree(4, needs{cores: 1})
	if got, want := at(store, pod+"volumes.3"), any(map[string]any{"name": "credentials", "secret": map[string]any{"secretName": "csiglab-sweep-x-1-trials", "defaultMode": 288.0}}); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if text, err := json.Marshal(store); err != nil || strings.Contains(string(text), "secret-1") || strings.Contains(string(text), "id-1") {
		t.Errorf("the Job has the credentials: %v", err)
	}
}

// Names that the cluster takes, whatever an experiment is called.
func TestNewID(t *testing.T) {
	for name, want := range map[string]string{"incast": "sweep-incast-", "My Very Long/Experiment_": "sweep-my-very-long-exp-", "": "sweep-", "ünï": "sweep-n-"} {
		id := NewID("sweep", name)
		if !strings.HasPrefix(id, want) || len(id) != len(want)+8 || len(id) > 36 {
			t.Errorf("%q: %s", name, id)
		}
	}
	if a, b := NewID("sweep", "x"), NewID("sweep", "x"); a == b {
		t.Error("two sweeps have one id")
	}
}
