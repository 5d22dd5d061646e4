package transport

// bitmap is a set of PSNs in (from, from+64*len), where from grows with what a receiver
// has. PSN p is at bit p mod 64*len. The length is 0 or a power of two.
type bitmap []uint64

// startBitmap is the number of words of the first bitmap.
const startBitmap = 4

func (b bitmap) span() uint32 { return uint32(len(b)) * 64 }

// word returns the word that has a PSN.
func (b bitmap) word(psn uint32) *uint64 { return &b[psn&(b.span()-1)/64] }

// has reports whether a PSN is in the set. Those below from are not: they wrap around to
// far beyond.
func (b bitmap) has(from, psn uint32) bool {
	return psn-from < b.span() && *b.word(psn)>>(psn%64)&1 != 0
}

func (b bitmap) flip(psn uint32) { *b.word(psn) ^= 1 << (psn % 64) }

// reserve makes room for a PSN beyond from.
func (b *bitmap) reserve(from, psn uint32) {
	for psn-from >= b.span() {
		b.grow(from)
	}
}

func (b *bitmap) grow(from uint32) {
	old := *b
	*b = make([]uint64, max(startBitmap, 2*len(old)))
	for psn := from; psn-from < old.span(); psn++ {
		if old.has(from, psn) {
			b.flip(psn)
		}
	}
}
