package netio

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Packet is a Conn over AF_PACKET: one TPACKET_V2 receive ring for all its
// interfaces, which tells the port by the interface's index, and one socket to
// send from. TPACKET_V3 would add its block timeout to every frame at low rates,
// and AF_XDP, which copies on veth, gains nothing: a hop of 4096 B takes 5.2 to 5.7 us of CPU with
// rings, 5.6 to 6.4 with AF_XDP, 7.1 with recvmmsg and sendmmsg, and 1.2 by the kernel's IP
// forwarding (prototypes on 2 cores, Linux 6.18, Go 1.26). Two kernel rules shape the callers:
// the outermost VLAN tag comes in PACKET_AUXDATA, and an unknown tag adds nothing to the longest
// frame, so that the MTU of a link includes tag and trailer.
type Packet struct {
	rx, tx    int
	ring      []byte
	slotSize  int
	perBlock  int
	blockSize int
	slots     int
	next      int // slot that the kernel fills next, seen from here
	held      int // slots before next that belong to the last batch
	indices   []int32
	ports     map[int32]int
	longest   []int // by port: the longest frame that is received; nil for any
	drops     int64
	cut       int64 // frames that did not fit into a slot, or were too long
	unshaped  bool

	messages  []mmsghdr
	vectors   []unix.Iovec
	addresses []unix.RawSockaddrLinklayer
}

type mmsghdr struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// Lengths of Ethernet's header and of an 802.1Q tag.
const (
	ethernetLen = 14
	vlanTagLen  = 4
)

// blockPages is the number of pages in a block of the ring: small enough that
// the kernel finds it in one piece.
const blockPages = 16

// OpenPacket opens the interfaces of the given indices, which are ports 0, 1, …,
// in the network namespace of the calling thread. A frame longer than maxFrame
// bytes may not fit into a slot, and is then lost and counted. So is one that is
// longer than its interface's MTU and two VLAN tags: programs that have turned
// offloading on send such, and no other interface takes them. OpenPacket needs
// CAP_NET_RAW in that namespace; the Conn may then be used from any thread.
func OpenPacket(indices []int, maxFrame int) (*Packet, error) {
	return openPorts(indices, maxFrame, SlotsOf(len(indices)))
}

// OpenUnshaped is OpenPacket for interfaces that pass each frame on at once, so that
// nothing between sender and receiver holds frames back, as under clock lockstep. It
// keeps at least the given number of frames until they are received: the fewer slots,
// the more of them stay in the processor's cache. Send is then a system call that the
// Go scheduler does not see, which costs less and must not wait.
func OpenUnshaped(indices []int, maxFrame, slots int) (*Packet, error) {
	c, err := openPorts(indices, maxFrame, slots)
	if err == nil {
		c.unshaped = true
	}
	return c, err
}

func openPorts(indices []int, maxFrame, slots int) (*Packet, error) {
	c, err := open(indices, maxFrame, slots, true)
	if err != nil {
		return nil, err
	}
	for _, index := range indices {
		mtu, err := c.mtu(index)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("netio: MTU of interface %d: %w", index, err)
		}
		c.longest = append(c.longest, ethernetLen+2*vlanTagLen+mtu)
	}
	return c, nil
}

// mtu asks in the namespace of the sockets, not in the thread's (netdevice(7)).
func (c *Packet) mtu(index int) (int, error) {
	r, err := unix.NewIfreq("")
	if err != nil {
		return 0, err
	}
	r.SetUint32(uint32(index))
	if err := unix.IoctlIfreq(c.tx, unix.SIOCGIFNAME, r); err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(c.tx, unix.SIOCGIFMTU, r); err != nil {
		return 0, err
	}
	return int(r.Uint32()), nil
}

// OpenTap opens one interface, which is port 0, to look on: it receives the
// interface's frames in both directions. It keeps many times more of them than
// a port does, since nobody waits for it.
func OpenTap(index, maxFrame int) (*Packet, error) {
	return open([]int{index}, maxFrame, tapSlots, false)
}

// tapSlots is 36 MB with the reference simulator's MTU.
const tapSlots = 8192

func open(indices []int, maxFrame, slots int, ignoreOutgoing bool) (*Packet, error) {
	c := &Packet{rx: -1, tx: -1, slots: slots, ports: make(map[int32]int, len(indices))}
	for port, index := range indices {
		c.indices = append(c.indices, int32(index))
		c.ports[int32(index)] = port
	}
	if err := c.open(maxFrame, ignoreOutgoing); err != nil {
		c.Close()
		return nil, fmt.Errorf("netio: packet socket: %w", err)
	}
	return c, nil
}

func (c *Packet) open(maxFrame int, ignoreOutgoing bool) (err error) {
	ignore := 0
	if ignoreOutgoing {
		ignore = 1
	}
	if c.tx, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	// Without a protocol the socket receives nothing until it is bound, when all
	// its options stand.
	if c.rx, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		return err
	}
	for _, o := range []struct{ name, value int }{
		{unix.PACKET_VERSION, unix.TPACKET_V2},
		{unix.PACKET_IGNORE_OUTGOING, ignore},
		// Room to put back the outer VLAN tag, which the kernel takes off.
		{unix.PACKET_RESERVE, vlanTagLen},
	} {
		if err := unix.SetsockoptInt(c.rx, unix.SOL_PACKET, o.name, o.value); err != nil {
			return fmt.Errorf("option %d: %w", o.name, err)
		}
	}
	// A slot holds the ring's header, the address, alignment, room for a tag and
	// the frame (Documentation/networking/packet_mmap.rst).
	c.slotSize = align(align(unix.SizeofTpacket2Hdr+unix.SizeofSockaddrLinklayer+vlanTagLen, 16)+16+vlanTagLen+maxFrame, 128)
	c.blockSize = max(blockPages*os.Getpagesize(), 1<<bits.Len(uint(c.slotSize-1)))
	c.perBlock = c.blockSize / c.slotSize
	blocks := (c.slots + c.perBlock - 1) / c.perBlock
	c.slots = blocks * c.perBlock
	request := unix.TpacketReq{
		Block_size: uint32(c.blockSize), Block_nr: uint32(blocks),
		Frame_size: uint32(c.slotSize), Frame_nr: uint32(c.slots),
	}
	if err := unix.SetsockoptTpacketReq(c.rx, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		return fmt.Errorf("receive ring of %d slots of %d B: %w", c.slots, c.slotSize, err)
	}
	if c.ring, err = unix.Mmap(c.rx, 0, blocks*c.blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return fmt.Errorf("map receive ring: %w", err)
	}
	if err := c.filter(); err != nil {
		return err
	}
	return unix.Bind(c.rx, &unix.SockaddrLinklayer{Protocol: hostToNet(unix.ETH_P_ALL)})
}

// filter keeps frames of other interfaces of the namespace, such as a host's
// programs have, out of the ring.
func (c *Packet) filter() error {
	n := len(c.indices)
	if n > maxFiltered {
		return nil
	}
	// Classic BPF (Documentation/networking/filter.rst): the interface's index, then
	// a comparison with each port's, which jumps to the last instruction.
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: filterIndex}}
	for i, index := range c.indices {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(n - i), K: uint32(index)})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0}, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: filterWhole})
	if err := unix.SetsockoptSockFprog(c.rx, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}); err != nil {
		return fmt.Errorf("filter: %w", err)
	}
	return nil
}

const (
	// maxFiltered is how many interfaces a jump reaches over; with more, Receive
	// sorts the frames.
	maxFiltered = 255
	// filterIndex is SKF_AD_OFF + SKF_AD_IFINDEX (linux/filter.h), filterWhole more
	// than any frame's length.
	filterIndex = 0xffff_f000 + 8
	filterWhole = 0x4_0000
)

func align(n, to int) int { return (n + to - 1) / to * to }

func hostToNet(v uint16) uint16 {
	return binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, v))
}

// header returns the ring's header of a slot.
func (c *Packet) header(slot int) *unix.Tpacket2Hdr {
	at := slot/c.perBlock*c.blockSize + slot%c.perBlock*c.slotSize
	return (*unix.Tpacket2Hdr)(unsafe.Pointer(&c.ring[at]))
}

// Receive implements Conn.
func (c *Packet) Receive(batch []Frame, wait time.Duration) (int, error) {
	c.release()
	if n := c.read(batch); n > 0 || wait <= 0 {
		return n, nil
	}
	deadline := time.Now().Add(wait)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return 0, nil
		}
		fds := []unix.PollFd{{Fd: int32(c.rx), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, int(left/time.Millisecond)+1); err != nil && err != unix.EINTR {
			return 0, fmt.Errorf("netio: poll: %w", err)
		}
		if n := c.read(batch); n > 0 {
			return n, nil
		}
		if fds[0].Revents&unix.POLLERR != 0 {
			return 0, fmt.Errorf("%w: an interface went down", ErrClosed)
		}
	}
}

// release gives the slots of the last batch back to the kernel.
func (c *Packet) release() {
	for ; c.held > 0; c.held-- {
		slot := (c.next - c.held + c.slots) % c.slots
		atomic.StoreUint32(&c.header(slot).Status, unix.TP_STATUS_KERNEL)
	}
}

func (c *Packet) read(batch []Frame) (n int) {
	for n < len(batch) && c.held < c.slots {
		h := c.header(c.next)
		status := atomic.LoadUint32(&h.Status)
		if status&unix.TP_STATUS_USER == 0 {
			break
		}
		c.next = (c.next + 1) % c.slots
		c.held++
		address := (*unix.RawSockaddrLinklayer)(unsafe.Add(unsafe.Pointer(h), align(unix.SizeofTpacket2Hdr, 16)))
		port, ours := c.ports[address.Ifindex]
		if !ours {
			if n == 0 {
				c.release()
			}
			continue
		}
		if h.Snaplen < h.Len || c.longest != nil && int(h.Len) > c.longest[port] {
			c.cut++
			if n == 0 {
				c.release()
			}
			continue
		}
		data := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(h), int(h.Mac))), int(h.Snaplen))
		if status&unix.TP_STATUS_VLAN_VALID != 0 && len(data) >= 12 {
			data = restoreTag(data, h, status)
		}
		batch[n] = Frame{Port: port, Data: data}
		n++
	}
	return n
}

// restoreTag puts the outer VLAN tag back between the addresses and the
// EtherType: it moves the addresses into the reserve before the frame.
func restoreTag(data []byte, h *unix.Tpacket2Hdr, status uint32) []byte {
	tpid := uint16(unix.ETH_P_8021Q)
	if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = h.Vlan_tpid
	}
	whole := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(&data[0]), -vlanTagLen)), len(data)+vlanTagLen)
	copy(whole, data[:12])
	binary.BigEndian.PutUint16(whole[12:], tpid)
	binary.BigEndian.PutUint16(whole[14:], h.Vlan_tci)
	return whole
}

// Send implements Conn.
func (c *Packet) Send(batch []Message) error {
	if len(batch) == 0 {
		return nil
	}
	c.prepare(batch)
	var since time.Time // when the first frame that is left was refused first
	for at := 0; at < len(batch); {
		n, errno := c.sendmmsg(c.messages[at:len(batch)])
		m, patience := &batch[at], sendPatience
		if m.Droppable {
			patience = dropPatience
		}
		lost := m.Droppable
		switch errno {
		case 0:
			at += n
			since = time.Time{}
			continue
		case unix.EINTR, unix.EAGAIN, unix.ENOBUFS:
			// ENOBUFS: the far end has dropped the frame. It is sent again, since a full
			// backlog passes; an interface whose MTU has become smaller does not.
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < patience {
				continue
			}
		case unix.EMSGSIZE:
		case unix.ENXIO, unix.ENODEV, unix.ENETDOWN: // the interface is gone or down
		default:
			lost = false
		}
		if !lost {
			return &PortError{m.Port, fmt.Errorf("send %d B: %w", m.Len(), errno)}
		}
		c.cut++
		at++
		since = time.Time{}
	}
	return nil
}

func (c *Packet) sendmmsg(messages []mmsghdr) (sent int, errno syscall.Errno) {
	call := syscall.Syscall6
	if c.unshaped {
		call = syscall.RawSyscall6
	}
	n, _, errno := call(unix.SYS_SENDMMSG, uintptr(c.tx), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), 0, 0, 0)
	return int(n), errno
}

// How long a frame is sent again that the far end drops.
const (
	sendPatience = 3 * time.Second
	dropPatience = 100 * time.Microsecond // of a Droppable one: others wait meanwhile
)

// vectorsPer is the number of parts of a Message.
const vectorsPer = 3

func (c *Packet) prepare(batch []Message) {
	if len(c.messages) < len(batch) {
		c.messages = make([]mmsghdr, len(batch))
		c.vectors = make([]unix.Iovec, vectorsPer*len(batch))
		c.addresses = make([]unix.RawSockaddrLinklayer, len(batch))
	}
	for i := range batch {
		m := &batch[i]
		address, vectors := &c.addresses[i], c.vectors[vectorsPer*i:][:vectorsPer]
		*address = unix.RawSockaddrLinklayer{Family: unix.AF_PACKET, Ifindex: c.indices[m.Port], Halen: 6}
		copy(address.Addr[:], m.Header)
		used := 0
		for _, part := range [][]byte{m.Header, m.Payload, m.Trailer} {
			if len(part) > 0 {
				vectors[used].Base = &part[0]
				vectors[used].SetLen(len(part))
				used++
			}
		}
		h := &c.messages[i].header
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(address)), unix.SizeofSockaddrLinklayer
		h.Iov = &vectors[0]
		h.SetIovlen(used)
	}
}

// Descriptor returns the file that poll(2) calls readable when a frame has come.
func (c *Packet) Descriptor() int { return c.rx }

// Drops implements Conn. The kernel's counter starts anew at each look.
func (c *Packet) Drops() (int64, error) {
	stats, err := unix.GetsockoptTpacketStats(c.rx, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return c.drops + c.cut, fmt.Errorf("netio: statistics: %w", err)
	}
	c.drops += int64(stats.Drops)
	return c.drops + c.cut, nil
}

// Close implements Conn.
func (c *Packet) Close() error {
	if c.ring != nil {
		unix.Munmap(c.ring)
		c.ring = nil
	}
	for _, fd := range []*int{&c.rx, &c.tx} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
	return nil
}
