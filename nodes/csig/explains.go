package csig

// Explains reports whether hops of the domain can have made the tag after of the tag before: they
// left it as it was, or wrote a worse value with a locator. None of them trimmed the packet, for
// which it would set D.
func (d *Domain) Explains(before, after []byte) bool {
	old, err := d.ParseTag(before)
	if err != nil {
		return false
	}
	now, err := d.ParseTag(after)
	if err != nil || now.Type != old.Type || now.Reserved != old.Reserved || now.DoNotUpdate != old.DoNotUpdate {
		return false
	}
	if now.Signal == old.Signal && now.Locator == old.Locator {
		return true
	}
	t := old.Type
	if !t.Known() || old.DoNotUpdate && !d.overrideD[t] {
		return false
	}
	held, local := int64(old.Signal), int64(now.Signal)
	if !d.wide {
		rank := &d.bands[t].rank
		if rank[old.Signal] == noRank || rank[now.Signal] == noRank {
			return false
		}
		held, local = int64(rank[old.Signal]), int64(rank[now.Signal])
	}
	if t.Min() {
		held, local = local, held
	}
	return local > held
}
