package wire_test

import (
	"net/netip"
	"testing"

	"github.com/csiglab/csiglab/nodes/wire"
)

func TestHostIPv6(t *testing.T) {
	for host, want := range map[int]string{0: "fd00:c51c::1", 3: "fd00:c51c::4", 65535: "fd00:c51c::1:0"} {
		ip := wire.HostIPv6(host)
		if got := netip.AddrFrom16(ip).String(); got != want {
			t.Errorf("host %d: got %s, want %s", host, got, want)
		}
		if got := wire.HostOfIPv6(ip[:]); got != host {
			t.Errorf("%s is of host %d, want %d", want, got, host)
		}
	}
	for _, text := range []string{"fd00:c51c::", "fd00:c51c:0:1::1", "fe80::1", "ff02::1:ff00:1", "fd00:c51c::1:0:0", "fd00:c51c::100:0"} {
		ip := netip.MustParseAddr(text).As16()
		if got := wire.HostOfIPv6(ip[:]); got != -1 {
			t.Errorf("%s is of host %d, want of none", text, got)
		}
	}
}
