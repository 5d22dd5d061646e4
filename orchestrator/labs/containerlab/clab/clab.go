// Package clab has the names and numbers of the files of containerlab and clabernetes that
// csiglab writes. Package containerlab writes them; commands that only offer them import this
// package alone.
package clab

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// DefaultSocket is where the Docker engine listens if DOCKER_HOST does not say otherwise.
const DefaultSocket = "/var/run/docker.sock"

// EngineUsable reports whether this user may use a Docker engine for containers of nodes, as far
// as can be told without asking it: nobody but root joins containers by links.
func EngineUsable() bool {
	path, local := DefaultSocket, true
	if host := os.Getenv("DOCKER_HOST"); host != "" {
		path, local = strings.CutPrefix(host, "unix://")
	}
	return local && os.Geteuid() == 0 && unix.Access(path, unix.R_OK|unix.W_OK) == nil
}

// API groups of clabernetes, which deploys containerlab topologies on Kubernetes
// (docs/reference/references.md#clabernetes). It renamed its group with version 0.7.
const (
	Group    = "c9s.run"
	OldGroup = "clabernetes.containerlab.dev"
)

// Groups returns the API groups that containerlab.WriteClabernetes knows, the newest first.
func Groups() []string { return []string{Group, OldGroup} }

// TunnelPort is the UDP port of tunnels: containerlab's own choice, as the assigned one,
// 4789, is often taken by other overlays of a machine.
const TunnelPort = 14789

// DefaultVNI is the identifier of the first link between parts, where nobody chooses one.
const DefaultVNI = 1000

// TunnelOverhead is what a tunnel adds to a frame without its Ethernet header, in bytes: the
// frame's Ethernet header, and those of VXLAN, UDP and IPv6 (RFC 7348 §5); IPv4's is 20
// bytes shorter. The interface to the other machines needs an MTU that is larger by that
// than the lab's: the kernel does not give a tunnel a larger one.
const TunnelOverhead = 14 + 8 + 8 + 40
