//go:build ignore

// The part of transit.c that reads a frame: it knows no port and changes nothing.

// Numbers of 128 bits, as math/bits has them.

struct wide {
	u64 hi, lo;
};

INLINE struct wide mul64(u64 x, u64 y)
{
	u64 x0 = (u32)x, x1 = x >> 32, y0 = (u32)y, y1 = y >> 32;
	u64 t = x1 * y0 + (x0 * y0 >> 32);
	u64 w1 = (u32)t + x0 * y1;
	return (struct wide){x1 * y1 + (t >> 32) + (w1 >> 32), x * y};
}

// digit returns a digit of a quotient in base 2^32.
INLINE u64 digit(u64 n, u64 next, u64 y1, u64 y0)
{
	u64 q = n / y1, rest = n - q * y1;
	for (int i = 0; i < 2 && !(rest >> 32) && (q >> 32 || q * y0 > (rest << 32) + next); i++)
		q--, rest += y1;
	return q;
}

// div64 returns the quotient of a number of 128 bits and y, which is greater than hi.
GLOBAL u64 div64(u64 hi, u64 lo, u64 y)
{
	if (!hi)
		return lo / y;
	for (u32 step = 32; step; step /= 2)
		if (!(y >> (64 - step))) {
			y <<= step;
			hi = hi << step | lo >> (64 - step);
			lo <<= step;
		}
	u64 y1 = y >> 32, y0 = (u32)y, q = digit(hi, lo >> 32, y1, y0);
	return (q << 32) + digit((hi << 32) + (lo >> 32) - q * y, (u32)lo, y1, y0);
}

// The frame: wire.Packet.Parse and csig.TPIDs.Walk.

enum { OTHER, RAW_IPV4, RAW_IPV6 };

// frame is what is known of the frame in hand. It is in a map, so that the verifier does not
// follow each of its values.
struct frame {
	u8 bytes[BUFFER];
	u64 size, came_in, value, starts;
	u32 at, others;    // of the walk
	u32 length, shift; // shift: bytes that the kernel has taken out
	u32 l3, type;
	u32 tag, format; // format: 1 compact, 2 wide
	u32 more, family, ports;
	u32 signal, policy, outcome;
	u8 second, macsec, ecn, marked;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, struct frame);
	__uint(max_entries, 1);
} frames SEC(".maps");

#define AT(f, i) ((f)->bytes[(i) & (BUFFER - 1)])

INLINE u32 u16_at(struct frame *f, u32 at) { return AT(f, at) << 8 | AT(f, at + 1); }

INLINE u32 u32_at(struct frame *f, u32 at) { return u16_at(f, at) << 16 | u16_at(f, at + 2); }

INLINE u64 u64_at(struct frame *f, u32 at) { return (u64)u32_at(f, at) << 32 | u32_at(f, at + 4); }

// step steps over the tag at f->at. It returns 0 at the end of the walk.
GLOBAL int step(struct frame *f)
{
	if (!f)
		return 0;
	u32 at = f->at, type = u16_at(f, at), n = 4, format = 0;
	f->type = type;
	f->l3 = at + 2;
	if (type == IPV4 || type < 0x0600)
		return 0;
	if (type == tpids[0])
		format = 1;
	else if (type == tpids[1])
		n = 8, format = 2;
	else if (type == MACSEC) {
		u8 control = f->length - at < 8 ? 0 : AT(f, at + 2);
		n = control & 0x20 ? 16 : 8;
		if (f->macsec || control & 0x8c) {
			f->macsec |= f->length >= at + n;
			return 0;
		}
	} else if (type != C_TAG && type != S_TAG && type != OLD_TAG)
		return 0;
	f->at = at + n;
	if (f->length < at + n + 2)
		return 0;
	if (format && !f->tag) {
		f->tag = at;
		f->format = format;
		return 1;
	}
	if (++f->others > MAX_TAGS)
		return 0;
	f->second |= format != 0;
	f->more += format * 4;
	f->macsec |= type == MACSEC;
	return 1;
}

INLINE void walk(struct frame *f)
{
	f->at = MACS;
	for (int i = 0; i < MAX_TAGS + 2 && step(f); i++)
		;
}

INLINE void find_ports(struct frame *f, u32 room, u32 header, u8 protocol)
{
	if ((protocol == 6 || protocol == 17 || protocol == 132) && room >= header + 4)
		f->ports = f->l3 + header;
}

GLOBAL int classify(struct frame *f)
{
	if (!f)
		return 0;
	u32 end = MAX_UNTAGGED + f->format * 4;
	if (f->length < end)
		end = f->length;
	u32 room = end - f->l3, header = (AT(f, f->l3) & 15) * 4;
	if (f->macsec || f->second)
		return 0;
	if (f->type == IPV4 && room >= 20 && AT(f, f->l3) >> 4 == 4 && header >= 20) {
		f->family = RAW_IPV4;
		if (!(u16_at(f, f->l3 + 6) & 0x3fff))
			find_ports(f, room, header, AT(f, f->l3 + 9));
	} else if (f->type == IPV6 && room >= 40 && AT(f, f->l3) >> 4 == 6) {
		f->family = RAW_IPV6;
		find_ports(f, room, 40, AT(f, f->l3 + 6));
	}
	return 0;
}

INLINE u64 fold(u64 x, u64 y)
{
	struct wide n = mul64(x, y);
	return n.hi ^ n.lo;
}

INLINE u64 mix(u64 a, u64 b)
{
	return fold(fold(a ^ 0xa0761d6478bd642fULL, b ^ 0xe7037ed1a0b428dbULL) ^ 0x8ebc6af09c88c6e3ULL, 0x589965cc75374cc3ULL);
}

#define GOLDEN 0x9e3779b97f4a7c15ULL

// hash is wire.Packet.Hash.
GLOBAL u64 hash(struct frame *f)
{
	if (!f)
		return 0;
	u64 last = f->ports ? (u64)u32_at(f, f->ports) << 8 : 0, a, b;
	u32 h = f->l3;
	switch (f->family) {
	case RAW_IPV4:
		return mix(u64_at(f, h + 12) ^ seed, (last | AT(f, h + 9)) ^ GOLDEN);
	case RAW_IPV6:
		a = mix(u64_at(f, h + 8) ^ seed, u64_at(f, h + 16) ^ GOLDEN);
		b = mix(a ^ u64_at(f, h + 24), u64_at(f, h + 32) ^ GOLDEN);
		return mix(b, (last | AT(f, h + 6)) ^ GOLDEN);
	}
	return mix(u64_at(f, 0) ^ seed, ((u64)u32_at(f, 8) << 16 | f->type) ^ GOLDEN);
}
