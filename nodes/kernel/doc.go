// Package kernel is the datapath of a transit switch as an eBPF program at tcx ingress:
// transit.c, whose object is committed. New loads it for the configuration of a
// dataplane.Switch, Attach puts it on interfaces. The kernel then forwards raw frames, and
// no process has a part in that.
//
// The machine is the specification. The program writes the bytes that dataplane.Switch
// writes, if the following holds; a test draws scripts and compares.
//
//   - Every frame is a raw frame (wire.Packet.ParseRaw). A port then has one queue in order of
//     arrival, and when a packet leaves depends on those before it alone. The program knows
//     that as the packet comes, as well as all that the meter has seen until then: the
//     available bandwidth and the delay are those of the start of transmission.
//   - Config.AtArrival is set. What a packet leaves behind comes later than the packet, which
//     is on its way by then. So marks (AQM step or none) and depths say what was ahead.
//   - Frames come in order of time. Between CPUs that is so to within the time that one has a
//     port's lock; a frame that comes too late counts as of the time of the one before.
//
// The kernel sends no frame that ends with its EtherType, VLAN tag in front aside; the program
// counts it as sent. A frame itself leaves at once: what is to hold it back, such as tbf at the rate of the
// port, stands behind the program. New names what the program cannot do.
//
// It needs Linux 6.6, which has tcx, and CAP_BPF with CAP_NET_ADMIN: no user namespace has
// the first. After a change of transit.c or frame.h, go generate makes the object anew, with
// clang-14 and llvm-14 of Debian 12, libbpf-dev and linux-libc-dev.
package kernel

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -cc clang-14 -strip llvm-strip-14 -target bpfel -go-package kernel -cflags "-O2 -Wall -Wno-parentheses -mcpu=v3 -I/usr/include/x86_64-linux-gnu" transit transit.c
