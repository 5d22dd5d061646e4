//go:build ignore

// The datapath of a transit switch as a program at tcx ingress. It does to raw frames what
// package nodes/switch/dataplane does, which is the specification: names here are those
// there, and a test compares the two bit by bit. doc.go says where the two are the same.
//
// A frame leaves at once. When its first bit would leave a port with a queue is known as it
// comes, as is all that the port has sent until then: the queue is virtual. What a port is
// built from and what it knows is in the map ports, behind a lock.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define INLINE static __always_inline
#define GLOBAL __noinline // what the verifier checks by itself

enum { MACS = 12, ETHERNET = 14, FCS = 4 };
enum { MAX_HEADER = 112, MAX_UNTAGGED = 104, MAX_TAGS = 8 }; // nodes/wire, nodes/csig
enum { BUFFER = 128 };                                       // of header bytes: a power of two
enum { TYPES = 4, BANDS = 32, SUB_WINDOWS = 8, SIGNAL_MASK = 31, WIDE_SIGNAL_MASK = 0xfffff };
enum { IPV4 = 0x0800, IPV6 = 0x86dd, C_TAG = 0x8100, S_TAG = 0x88a8, OLD_TAG = 0x9100, MACSEC = 0x88e5 };
enum { ABW, ABWC, DELAY, NQD };
enum { UPDATE, PASS, STRIP };
enum { NO_RANK = 255 };
enum { TRIES = 1 << 22 };

#define SECOND 1000000000000ULL // ps
#define PPM 1000000ULL

// Outcomes of tags, in the order of dataplane.TagNames.
enum { UPDATED, KEPT, FROZEN, UNKNOWN, PASSED, STRIPPED, SEVERAL, OUTCOMES };

// transmission is the packet on the link: meter.transmission.
struct transmission {
	u64 start, takes, size, settled;
};

struct port {
	u32 lock; // 1 while a CPU has the port
	u32 ifindex;
	// What Go fills in.
	u64 rate, per_byte; // per_byte: 0 when not whole
	u64 limit;          // of the data queue
	u64 threshold;      // of marks
	u64 full;           // of meter.Depth
	u64 sub, interval;  // of meter.Bandwidth
	u32 count, fraction;
	u16 locators[2];        // by format
	u8 policies[2][TYPES];  // by format and type
	// What the port knows; window_end begins as Go fills it in.
	u64 free_at, remainder, last;
	u64 window_end, ring[SUB_WINDOWS], sum, open, at;
	struct transmission packet;
	u64 head, tail, gone, pushed; // of the queue in map queues
	// Totals.
	u64 sent_packets, sent_bytes, dropped_packets, dropped_bytes, marked, tags[OUTCOMES];
};

// slot is a packet of a virtual queue.
struct slot {
	u64 leaves; // the packet is in the queue before this
	u64 pushed; // bytes of all packets up to this one
};

struct route {
	u32 first, count; // of the map hops
};

// layout is the format of tags, compact or wide.
struct layout {
	u16 lm_mask, d_mask;
	u8 lm_shift, present;
};

struct bands {
	u64 lower[BANDS];
	u8 rank[BANDS]; // by code, from 1; 0 and last + 2 are of an initial code without range
	u8 code[BANDS]; // by rank
	u8 last;
};

struct linear {
	u64 base, limit;
	u8 shift;
};

// The switch, which Go fills in before the program is loaded.
const volatile struct layout layouts[2];
const volatile struct bands bands[TYPES];
const volatile struct linear linear[TYPES];
const volatile u8 override_d[TYPES];
const volatile u16 tpids[2];
const volatile u64 seed, delay, overhead, queue_mask;
const volatile u64 start, dilation = 1; // of the clock: model time 0 in ns, and wall time over model time
const volatile u8 wait, count_tag;      // wait: csig.delay is the time in the queue
const volatile u8 scripted;             // time and port of a frame come with it, in cb

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct port);
	__uint(max_entries, 1);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct slot)); // Go sets it to queue_mask + 1 slots
	__uint(max_entries, 1);
} queues SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__type(key, u32);   // ifindex
	__type(value, u32); // port
	__uint(max_entries, 1);
} interfaces SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32); // host
	__type(value, struct route);
	__uint(max_entries, 1);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u32); // port
	__uint(max_entries, 1);
} hops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, u64); // packets without a route
	__uint(max_entries, 1);
} lost SEC(".maps");

#include "frame.h"

// The available bandwidth: meter.Bandwidth.

// settle is countSentBefore, for a time after the start of the packet.
GLOBAL int settle(struct port *p, u64 t)
{
	if (!p)
		return 0;
	struct transmission *x = &p->packet;
	if (x->settled == x->size)
		return 0;
	u64 sent = x->size;
	if (t - x->start < x->takes) {
		struct wide n = mul64(x->size, t - x->start);
		sent = div64(n.hi, n.lo, x->takes);
	}
	p->open += sent - x->settled;
	x->settled = sent;
	return 0;
}

GLOBAL int roll(struct port *p, u64 now)
{
	if (!p || now < p->window_end)
		return 0;
	u64 passed = (now - p->window_end) / p->sub + 1, skipped = 0;
	if (passed > 2 * p->count + 1) {
		skipped = passed - 2 * p->count - 1;
		passed -= skipped;
	}
	for (u32 i = 0; i < 2 * SUB_WINDOWS + 1 && i < passed; i++) {
		if (skipped && i == p->count + 1) {
			p->window_end += skipped * p->sub;
			settle(p, p->window_end - p->sub);
			p->open = 0;
		}
		settle(p, p->window_end);
		u64 *closed = &p->ring[p->at % SUB_WINDOWS];
		p->sum += p->open - *closed;
		*closed = p->open;
		p->open = 0;
		if (++p->at == p->count)
			p->at = 0;
		p->window_end += p->sub;
	}
	return 0;
}

GLOBAL u64 available(struct port *p)
{
	if (!p)
		return 0;
	struct wide n = mul64(p->sum, SECOND);
	u32 f = p->fraction & 63;
	if (f)
		n = (struct wide){n.hi >> f, n.hi << (64 - f) | n.lo >> f};
	u64 half = p->interval / 2, capacity = p->rate / 8;
	n.lo += half;
	n.hi += n.lo < half;
	u64 used = div64(n.hi, n.lo, p->interval);
	return used < capacity ? capacity - used : 0;
}

// The line: units.Serialiser. A frame has so few bytes that 64 bits hold the products.

INLINE u64 takes(struct port *p, u64 size)
{
	return p->per_byte ? size * p->per_byte : size * 8 * SECOND / p->rate;
}

INLINE u64 departure(struct port *p, u64 now, u64 size)
{
	if (p->per_byte)
		return now + size * p->per_byte;
	if (now > p->free_at)
		p->remainder = 0;
	u64 n = size * 8 * SECOND + p->remainder;
	p->remainder = n % p->rate;
	return now + n / p->rate;
}

// load reads the beginning of a frame, with the VLAN tag that the kernel has taken out.
GLOBAL int load(struct __sk_buff *skb, struct frame *f)
{
	if (!f)
		return -1;
	__builtin_memset(f, 0, sizeof *f);
	u32 n = skb->len;
	f->length = n;
	if (!skb->vlan_present) {
		n = n < MAX_HEADER ? n : MAX_HEADER;
		return n < ETHERNET ? -1 : bpf_skb_load_bytes(skb, 0, f->bytes, n);
	}
	f->length += f->shift = 4;
	if (bpf_skb_load_bytes(skb, 0, f->bytes, MACS))
		return -1;
	*(u16 *)&f->bytes[12] = skb->vlan_proto;
	*(u16 *)&f->bytes[14] = bpf_htons(skb->vlan_tci);
	n = n < MAX_HEADER - 4 ? n - MACS : MAX_HEADER - MACS - 4;
	return n < 2 || n > MAX_HEADER - MACS - 4 ? -1 : bpf_skb_load_bytes(skb, MACS, &f->bytes[16], n);
}

// The tag: csig.Domain.

INLINE u32 rank_of(u32 t, u64 v)
{
	u32 i = 0;
	for (u32 step = BANDS / 2; step; step /= 2)
		if (v >= bands[t].lower[(i + step) % BANDS])
			i += step;
	return i < bands[t].last ? i : bands[t].last;
}

INLINE u32 code_of(u32 t, u64 v)
{
	if (v > linear[t].limit)
		v = linear[t].limit;
	if (v < linear[t].base)
		return 0;
	v = v - linear[t].base >> (linear[t].shift & 63);
	return v < WIDE_SIGNAL_MASK ? v : WIDE_SIGNAL_MASK;
}

// update writes the port's value and locator into the copy of a tag, if the value is worse than
// the tag's.
GLOBAL int update(struct frame *f, u16 locator)
{
	if (!f)
		return UNKNOWN;
	const volatile struct layout *l = &layouts[f->format - 1 & 1];
	u32 t = f->signal % TYPES, at = f->tag + 2, word = u16_at(f, at);
	int smallest = t < DELAY;
	if (word & l->d_mask && !override_d[t])
		return FROZEN;
	if (f->format == 1) {
		u32 held = bands[t].rank[word >> 7 & SIGNAL_MASK], local = rank_of(t, f->value);
		if (held == NO_RANK)
			return UNKNOWN;
		if (smallest ? local + 1 >= held : local + 1 <= held)
			return KEPT;
		word = word & ~(SIGNAL_MASK << 7) | (u32)bands[t].code[local % BANDS] << 7;
	} else {
		u32 word2 = u32_at(f, at + 2), held = word2 >> 8 & WIDE_SIGNAL_MASK, local = code_of(t, f->value);
		if (smallest ? local >= held : local <= held)
			return KEPT;
		word2 = word2 & ~(WIDE_SIGNAL_MASK << 8) | local << 8;
		AT(f, at + 2) = word2 >> 24;
		AT(f, at + 3) = word2 >> 16;
		AT(f, at + 4) = word2 >> 8;
	}
	word = word & ~l->lm_mask | locator << (l->lm_shift & 7) & l->lm_mask;
	AT(f, at) = word >> 8;
	AT(f, at + 1) = word;
	return UPDATED;
}

// strip removes the tag. The kernel removes VLAN tags alone, those that it has taken out or
// that the frame begins with. So two VLAN tags are put on, of which the second has the first
// one written into the frame; all that is to go is written as VLAN tags in front of what
// stays, and popped one by one.
GLOBAL int strip(struct __sk_buff *skb, struct frame *f)
{
	if (!f)
		return 0;
	u32 before = f->tag - MACS, gone = f->format * 4;
	if (!f->shift) {
		bpf_skb_vlan_push(skb, bpf_htons(C_TAG), 0);
		gone += 4;
	}
	bpf_skb_vlan_push(skb, bpf_htons(C_TAG), 0);
	if (before > 0 && before <= MAX_HEADER - MACS)
		bpf_skb_store_bytes(skb, MACS + gone, &f->bytes[MACS], before, 0);
	u32 dummy = bpf_htonl(C_TAG << 16);
	for (u32 i = 0; i < 3; i++)
		if (4 * i < gone)
			bpf_skb_store_bytes(skb, MACS + 4 * i, &dummy, sizeof dummy, 0);
	for (u32 i = 0; i < 4; i++)
		if (4 * i <= gone)
			bpf_skb_vlan_pop(skb);
	return 0;
}

// mark sets CE: wire.Packet.MarkCE.
GLOBAL int mark(struct __sk_buff *skb, struct frame *f)
{
	if (!f)
		return 0;
	u32 at = f->l3 + 1;
	u8 old = AT(f, at), new = old | (f->family == RAW_IPV4 ? 3 : 3 << 4);
	bpf_skb_store_bytes(skb, at - f->shift, &new, 1, BPF_F_RECOMPUTE_CSUM);
	if (f->family != RAW_IPV4)
		return 0;
	at = f->l3 + 10; // RFC 1624 §3, eq. 3
	u32 sum = (u16)~u16_at(f, at) + (u16)~old + new;
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	u16 checksum = bpf_htons((u16)~sum);
	bpf_skb_store_bytes(skb, at - f->shift, &checksum, 2, BPF_F_RECOMPUTE_CSUM);
	return 0;
}

// queued returns the bytes that wait at a time.
INLINE u64 queued(struct port *p, struct slot *queue, u64 now)
{
	u64 low = p->head, high = p->tail;
	if (low != high && queue[high - 1 & queue_mask].leaves <= now)
		low = high;
	for (int i = 0; i < 32 && low < high; i++) {
		u64 middle = low + (high - low) / 2;
		if (queue[middle & queue_mask].leaves <= now)
			low = middle + 1;
		else
			high = middle;
	}
	if (low != p->head)
		p->gone = queue[low - 1 & queue_mask].pushed;
	p->head = low;
	return p->pushed - p->gone;
}

// judge says what becomes of a frame's tag, and whether the frame may be marked.
GLOBAL int judge(struct frame *f, struct port *p)
{
	if (!f || !p)
		return 0;
	u32 at = f->l3 + 1;
	f->ecn = f->family == RAW_IPV4 ? AT(f, at) & 3 : f->family == RAW_IPV6 ? AT(f, at) >> 4 & 3 : 0;
	f->policy = PASS;
	f->outcome = OUTCOMES;
	if (!f->tag)
		return 0;
	u32 t = f->format == 1 ? AT(f, f->tag + 2) >> 5 : AT(f, f->tag + 4) >> 4;
	if (f->second)
		f->outcome = SEVERAL;
	else if (t >= TYPES || !layouts[f->format - 1 & 1].present)
		f->outcome = UNKNOWN;
	else {
		f->signal = t;
		f->policy = p->policies[f->format - 1 & 1][t];
		f->outcome = f->policy == PASS ? PASSED : STRIPPED;
	}
	return 0;
}

// edit writes into the frame what has become of it.
GLOBAL int edit(struct __sk_buff *skb, struct frame *f, struct port *p)
{
	if (!f || !p)
		return 0;
	if (f->marked)
		mark(skb, f);
	if (f->policy == UPDATE)
		f->outcome = update(f, p->locators[f->format - 1 & 1]);
	u32 tag = f->tag + 2;
	if (tag <= MAX_HEADER - 6 && f->outcome == UPDATED)
		bpf_skb_store_bytes(skb, tag - f->shift, &f->bytes[tag], f->format == 1 ? 2 : 6, BPF_F_RECOMPUTE_CSUM);
	if (f->outcome == STRIPPED)
		strip(skb, f);
	if (f->outcome < OUTCOMES)
		__sync_fetch_and_add(&p->tags[f->outcome], 1);
	return 0;
}

// route returns the port that a frame leaves through: forward.ECMP.
GLOBAL int route(struct frame *f)
{
	if (!f)
		return -1;
	u32 host = u32_at(f, 0) & 0xffffff;
	struct route *r = NULL;
	if (f->bytes[0] == 2 && !u16_at(f, 4))
		r = bpf_map_lookup_elem(&routes, &host);
	if (!r || !r->count)
		return -1;
	u32 hop = r->first;
	if (r->count > 1)
		hop += mul64(hash(f), r->count).hi;
	u32 *port = bpf_map_lookup_elem(&hops, &hop);
	return port ? *port : -1;
}

// A port has a lock of its own: under the kernel's, no function may be called that the
// verifier checks by itself, and as one the program is too much for it.

struct attempt {
	struct port *port;
	u32 taken;
};

static long try_lock(u32 i, struct attempt *a)
{
	a->taken = !__sync_lock_test_and_set(&a->port->lock, 1);
	return a->taken;
}

// lock returns 0 if another CPU has had the port for so long that something is wrong.
INLINE int lock(struct port *p)
{
	struct attempt a = {p};
	if (!try_lock(0, &a))
		bpf_loop(TRIES, try_lock, &a, 0);
	return a.taken;
}

INLINE void unlock(struct port *p) { __sync_lock_test_and_set(&p->lock, 0); }

// enqueue puts a packet into the virtual queue of a port. It returns 0 if there is no room.
INLINE int enqueue(struct port *p, struct slot *queue, struct frame *f, u64 now)
{
	if (now < p->last)
		now = p->last; // of another CPU, which has been faster
	p->last = now;
	u64 size = f->size, enqueued = now + delay, ahead = queued(p, queue, enqueued);
	if (ahead + size > p->limit) {
		p->dropped_packets++;
		p->dropped_bytes += size;
		return 0;
	}
	u64 starts = enqueued > p->free_at ? enqueued : p->free_at;
	struct slot *slot = &queue[p->tail++ & queue_mask];
	p->pushed += size;
	slot->pushed = p->pushed;
	// With a delay, all packets of an instant are in the queue before the first one leaves.
	slot->leaves = starts + (delay && starts == enqueued);
	if (f->ecn && ahead >= p->threshold) {
		f->marked = 1;
		p->marked += f->ecn != 3;
	}
	roll(p, starts);
	if (f->policy == UPDATE)
		switch (f->signal) {
		case ABW:
			f->value = available(p);
			break;
		case ABWC:
			f->value = available(p) * 8 * PPM / p->rate;
			break;
		case DELAY:
			f->value = (starts - now + (wait ? -delay : f->came_in)) / 1000;
			break;
		default:
			f->value = (ahead < p->full ? ahead : p->full) * PPM / p->full;
		}
	u64 departs = departure(p, starts, size + overhead);
	settle(p, ~0ULL >> 1);
	p->packet = (struct transmission){starts, departs - starts, size << (p->fraction & 63), 0};
	p->free_at = departs;
	p->sent_packets++;
	p->sent_bytes += size;
	f->starts = starts;
	return 1;
}

SEC("tcx/ingress")
int transit(struct __sk_buff *skb)
{
	u32 zero = 0, in_port = skb->cb[2], out_port;
	u64 now, *unrouted = bpf_map_lookup_elem(&lost, &zero);
	struct frame *f = bpf_map_lookup_elem(&frames, &zero);
	if (scripted)
		now = (u64)skb->cb[1] << 32 | skb->cb[0];
	else {
		u32 ifindex = skb->ingress_ifindex, *i = bpf_map_lookup_elem(&interfaces, &ifindex);
		if (!i)
			return TC_ACT_UNSPEC;
		in_port = *i;
		now = (bpf_ktime_get_ns() - start) * 1000 / dilation;
	}
	if (!f || !unrouted || load(skb, f))
		return TC_ACT_SHOT;
	walk(f);
	classify(f);
	f->size = f->length + FCS;
	if (!count_tag)
		f->size -= f->format * 4 + f->more;

	out_port = route(f);
	struct port *in = bpf_map_lookup_elem(&ports, &in_port), *p = bpf_map_lookup_elem(&ports, &out_port);
	struct slot *queue = bpf_map_lookup_elem(&queues, &out_port);
	if (!in || !p || !queue) {
		++*unrouted;
		return TC_ACT_SHOT;
	}
	judge(f, p);
	f->came_in = takes(in, f->size + overhead);

	if (!lock(p))
		return TC_ACT_SHOT;
	int fits = enqueue(p, queue, f, now);
	unlock(p);
	if (!fits)
		return TC_ACT_SHOT;
	edit(skb, f, p);
	if (scripted) {
		skb->cb[0] = f->starts;
		skb->cb[1] = f->starts >> 32;
		skb->cb[2] = out_port;
		skb->cb[3] = skb->vlan_present ? (u32)bpf_ntohs(skb->vlan_proto) << 16 | skb->vlan_tci : 0;
	}
	return bpf_redirect(p->ifindex, 0);
}

char __license[] SEC("license") = "Apache-2.0";
