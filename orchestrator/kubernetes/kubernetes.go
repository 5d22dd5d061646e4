// Package kubernetes is the backend that runs plans in the pods of a Kubernetes cluster: an
// Indexed Job with a pod for each part of the fabric (placement), which the coordinator
// (shards) reaches by port-forward. Inside of each pod runs the backend of network
// namespaces.
package kubernetes
