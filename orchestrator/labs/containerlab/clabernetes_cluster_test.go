package containerlab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
	"github.com/csiglab/csiglab/orchestrator/labs/containerlab/clab"
)

// definitions is the resource of custom resource definitions.
var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// object is a JSON object.
type object = map[string]any

// topologySchema is what the definitions of clabernetes say of the fields that csiglab writes
// (docs/reference/references.md#clabernetes). It stands in where the cluster has no clabernetes.
func topologySchema(group string) object {
	text, flag := object{"type": "string"}, object{"type": "boolean"}
	fields := func(list object, required ...any) object {
		o := object{"type": "object", "properties": list}
		if len(required) > 0 {
			o["required"] = required
		}
		return o
	}
	var spec object
	switch group {
	case clab.Group:
		spec = fields(object{
			"definition":   fields(object{"containerlab": text}, "containerlab"),
			"expose":       fields(object{"disableAutoExpose": flag, "exposeType": object{"type": "string", "default": "LoadBalancer", "enum": []any{"None", "ClusterIP", "Headless", "LoadBalancer"}}}),
			"statusProbes": fields(object{"enabled": flag}),
		}, "definition")
	case clab.OldGroup:
		spec = fields(object{
			"definition": fields(object{"containerlab": text, "kne": text}),
			"expose":     fields(object{"disableAutoExpose": flag, "disableExpose": flag, "disableNodeAliasService": flag}),
		}, "definition")
	}
	return object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": object{"name": "topologies." + group, "labels": object{"csiglab.test": "clabernetes"}},
		"spec": object{
			"group": group, "scope": "Namespaced",
			"names":    object{"kind": "Topology", "listKind": "TopologyList", "plural": "topologies", "singular": "topology"},
			"versions": []any{object{"name": "v1alpha1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": fields(object{"spec": spec})}}},
		},
	}
}

// TestClabernetesDryRun: a cluster's API server accepts the resources of both groups in a dry
// run, with strict validation, and does not accept them with a field more or less. It uses
// the cluster's own definitions where clabernetes is installed.
func TestClabernetesDryRun(t *testing.T) {
	file := os.Getenv("CSIGLAB_KUBECONFIG")
	if file == "" {
		t.Skip("set CSIGLAB_KUBECONFIG to the kubeconfig of a cluster for tests")
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range clab.Groups() {
		t.Run(group, func(t *testing.T) { dryRun(t, cluster, group) })
	}
}

func dryRun(t *testing.T, cluster dynamic.Interface, group string) {
	ctx := t.Context()
	definition := &unstructured.Unstructured{Object: normal(t, topologySchema(group))}
	switch _, err := cluster.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); {
	case apierrors.IsAlreadyExists(err):
		t.Log("the definition is the cluster's own")
	case err != nil:
		t.Fatal(err)
	default:
		t.Cleanup(func() {
			if err := cluster.Resource(definitions).Delete(context.WithoutCancel(ctx), definition.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	topologies := cluster.Resource(schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: "topologies"}).Namespace("default")
	create := func(r object) error {
		_, err := topologies.Create(ctx, &unstructured.Unstructured{Object: r}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
		return err
	}
	lab, _ := threeFlowShards(t)
	resource := func() object {
		var text bytes.Buffer
		if err := containerlab.WriteClabernetes(&text, lab, group); err != nil {
			t.Fatal(err)
		}
		var r object
		if err := yaml.Unmarshal(text.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		return normal(t, r)
	}
	err := create(resource())
	for start := time.Now(); apierrors.IsNotFound(err) && time.Since(start) < 20*time.Second; err = create(resource()) {
		time.Sleep(100 * time.Millisecond) // until the server serves the new kind
	}
	if err != nil {
		t.Errorf("the resource is refused: %v", err)
	}
	spec := func(r object) object { return r["spec"].(object) }
	more := resource()
	spec(more)["colour"] = "blue"
	if err := create(more); err == nil || !strings.Contains(err.Error(), "spec.colour") {
		t.Errorf("with a field more: %v", err)
	}
	less := resource()
	delete(spec(less), "definition")
	if err := create(less); err == nil || !strings.Contains(err.Error(), "spec.definition") {
		t.Errorf("without a definition: %v", err)
	}
	if list, err := topologies.List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) > 0 && list.Items[0].GetName() == lab.Name {
		t.Errorf("after dry runs there are %v, %v", list, err)
	}
}

// normal returns an object as JSON decodes it.
func normal(t *testing.T, o object) (out object) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}
