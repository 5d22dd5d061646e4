package containerlab_test

import (
	"context"
	"fmt"
	"os"

	"github.com/csiglab/csiglab/orchestrator/labs/containerlab"
)

func ExampleWriteTopology() {
	lab := newLab(pair(), containerlab.NodeSettings{Image: "csiglab/csig-host:0123456789ab", Cmd: []string{"/csiglab/a b"}})
	lab.Nodes[2] = containerlab.NodeSettings{Image: "csiglab/csig-switch:0123456789ab", Binds: []string{"nodes/tor0:/csiglab"}}
	if err := containerlab.WriteTopology(os.Stdout, lab); err != nil {
		fmt.Println(err)
	}
	// Output:
	// name: pair-r1
	// mgmt:
	//   skip-when-unused: true
	// topology:
	//   defaults:
	//     kind: linux
	//     network-mode: none
	//     privileged: false
	//     cap-add: [NET_ADMIN, NET_RAW]
	//     security-opts: ["no-new-privileges:true"]
	//     restart-policy: "no"
	//     image-pull-policy: Never
	//     labels:
	//       csiglab.lab: pair
	//       csiglab.run: r1
	//   nodes:
	//     h0:
	//       image: csiglab/csig-host:0123456789ab
	//       group: host
	//       cmd: "'/csiglab/a b'"
	//       memory: 256MiB
	//     h1:
	//       image: csiglab/csig-host:0123456789ab
	//       group: host
	//       cmd: "'/csiglab/a b'"
	//       memory: 256MiB
	//     tor0:
	//       image: csiglab/csig-switch:0123456789ab
	//       group: tor
	//       binds:
	//         - nodes/tor0:/csiglab
	//       memory: 256MiB
	//   links:
	//     - type: veth
	//       endpoints:
	//         - node: h0
	//           interface: eth1
	//         - node: tor0
	//           interface: eth1
	//       mtu: 4400
	//       vars: {rate: 100Gbps, delay: 1us}
	//     - type: veth
	//       endpoints:
	//         - node: h1
	//           interface: eth1
	//         - node: tor0
	//           interface: eth2
	//       mtu: 4400
	//       vars: {rate: 25Gbps, delay: 500ns}
}

func ExampleOpen() {
	ctx := context.Background()
	engine, err := containerlab.Open(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer engine.Close()
	labs, err := engine.List(ctx)
	if err != nil {
		fmt.Println(err)
	}
	for _, l := range labs {
		fmt.Printf("%s: %d of %d containers run\n", l.RunID, l.Running, l.Containers)
	}
}
