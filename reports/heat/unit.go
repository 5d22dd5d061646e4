package heat

// Unit returns the unit that charts have for the points of a signal's samples, and how many of
// it a point is; "" and 0 for a signal that is not this program's.
func Unit(signal string) (unit string, points float64) {
	u := signalUnits[signal]
	return u.unit, u.scale
}
