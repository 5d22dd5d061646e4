package selftest

import "fmt"

// checks are all checks, kind by kind.
var checks = []test{
	{"rate", Sensitivity, "all links 100 -> 50 Gb/s under a lone transfer of 1000 packets", halfRate.check},
	{"delay", Sensitivity, "all links 1 -> 2 us under a lone packet", doubleDelay.check},
	{"ecn", Sensitivity, "ECN on -> off, four DCTCP senders on one link", withoutECN.check},
	{"buffer", Sensitivity, "queue 400 -> 200 kB, four senders on one link without ECN", halfBuffer.check},
	{"fan-in", Sensitivity, "incast of 4 -> 8 senders of 1000 packets", fanIn.check},
	{"collective", Sensitivity, "ring all-reduce of four ranks 16 -> 32 MiB", collective.check},
	{"load", Sensitivity, "rate of a transfer 40 -> 80 Gb/s on links of 100 Gb/s", load.check},
	{"window", Sensitivity, "constant windows of two transfers 208 -> 416 kB on one link", window.check},

	{"name", Independence, "name and description of the experiment", unmoved("unused-link", []string{"name=other", "description=other"}, []string{"links.queue=30kB"}, "a shorter queue")},
	{"unused-link", Independence, "rate of a link that carries nothing 100 -> 50 Gb/s", unmoved("unused-link", []string{linksWith("50Gbps", "100Gbps")}, []string{linksWith("100Gbps", "50Gbps")}, "50 Gb/s on a link in use")},

	{"books", Conservation, "nothing; a link loses packets, and short queues trim them", books("losses")},
	{"lost-packet", Conservation, "a switch loses one packet and does not count it", leaking(100)},
	{"lost-frame", Conservation, "the kernel loses one real frame", lostFrame("tor0-agg0", 20)},

	{"real-frames", Parity, "virtual time -> real frames between network namespaces, in lockstep", parity()},

	{"seed", Repetition, "nothing; then the seed", again([3]uint64{1, 1, 2})},
	{"statistics", Repetition, "nothing; then the candidate is 10 % slower", judged(1, 1.1)},
}

// linksWith is the override of the links of unused-link.yaml with other rates of the link to
// the host that does nothing, and of that to the host that receives.
func linksWith(idle, used string) string {
	return fmt.Sprintf("topology.graph.links=[{a: a, b: left}, {a: b, b: left}, {a: c, b: right, rate: %s}, {a: idle, b: right, rate: %s, delay: 500ns}, {a: left, b: right, count: 2}]", used, idle)
}
