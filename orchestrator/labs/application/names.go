package application

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names are the hosts that run programs, by number.
type Names map[int]string

// suffixIPv6 makes of the name of a host the one for its address of IPv6. The name itself
// stands for the address of IPv4 alone: where a name has both, the resolver of glibc
// prefers IPv6, and a datagram to a program that listens on IPv4 would be lost in silence.
const suffixIPv6 = "-v6"

// Hosts returns the text of a hosts file (hosts(5)) that resolves each name to the
// address of IPv4 of the host's programs, and the name with "-v6" to that of IPv6. What
// base, the text of another hosts file, says of other names is kept. localhost always
// resolves.
func (n Names) Hosts(base []byte) []byte {
	var b bytes.Buffer
	known := map[string]bool{}
	for _, host := range slices.Sorted(maps.Keys(n)) {
		name := n[host]
		fmt.Fprintf(&b, "%v\t%s\n%v\t%s\n", IPv4(host), name, ipv6(host), name+suffixIPv6)
		known[strings.ToLower(name)], known[strings.ToLower(name)+suffixIPv6] = true, true
	}
	kept := others(base, known)
	if !slices.Contains(strings.Fields(kept), "localhost") {
		b.WriteString("127.0.0.1\tlocalhost\n")
	}
	b.WriteString(kept)
	return b.Bytes()
}

// others returns the lines of a hosts file that name something, without the names that
// are known.
func others(base []byte, known map[string]bool) string {
	var kept strings.Builder
	for line := range strings.Lines(string(base)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		names := slices.DeleteFunc(fields[1:], func(name string) bool { return known[strings.ToLower(name)] })
		if len(names) > 0 {
			fmt.Fprintf(&kept, "%s\t%s\n", fields[0], strings.Join(names, " "))
		}
	}
	return kept.String()
}

// switchText returns the text of a name service switch (nsswitch.conf(5)) that looks
// hosts up in the hosts file alone. Other services would ask the machine, which does
// not know the hosts of a run, and some of them end the search.
func switchText(base []byte) []byte {
	const database = "hosts:"
	var b bytes.Buffer
	for line := range strings.Lines(string(base)) {
		if !strings.HasPrefix(strings.TrimSpace(line), database) {
			b.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	b.WriteString(database + " files\n")
	return b.Bytes()
}
