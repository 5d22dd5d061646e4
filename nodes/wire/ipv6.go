package wire

import "encoding/binary"

// prefixIPv6 is fd00:c51c::/64, a unique local prefix (RFC 4193).
const prefixIPv6 = 0xfd00_c51c_0000_0000

// HostIPv6 returns the IPv6 address of the programs on host i: fd00:c51c:: plus
// i+1. The transport has none.
func HostIPv6(i int) (ip [16]byte) {
	binary.BigEndian.PutUint64(ip[:], prefixIPv6)
	binary.BigEndian.PutUint64(ip[8:], uint64(i)+1)
	return ip
}

// HostOfIPv6 returns the host whose address is ip, 16 bytes, or -1 if none can be.
func HostOfIPv6(ip []byte) int {
	host := binary.BigEndian.Uint64(ip[8:])
	if binary.BigEndian.Uint64(ip) != prefixIPv6 || host == 0 || host > 1<<24-1 {
		return -1
	}
	return int(host) - 1
}
