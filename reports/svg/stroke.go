package svg

import "math"

// stroker turns lines into shapes of a width.
type stroker struct {
	width, fine float64
	cap         string // "", butt, round or square
	shapes      [][]point
}

// stroke adds a rectangle for each straight line, and a disc where two of them meet.
func (k *stroker) stroke(l line) {
	points, half := l.points, k.width/2
	if l.closed && len(points) > 1 {
		points = append(points[:len(points):len(points)], points[0])
	}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		n := math.Hypot(b.x-a.x, b.y-a.y)
		if n == 0 {
			continue
		}
		ux, uy := (b.x-a.x)/n*half, (b.y-a.y)/n*half
		if k.cap == "square" && !l.closed {
			if i == 1 {
				a = point{a.x - ux, a.y - uy}
			}
			if i == len(points)-1 {
				b = point{b.x + ux, b.y + uy}
			}
		}
		k.shapes = append(k.shapes, []point{{a.x - uy, a.y + ux}, {b.x - uy, b.y + ux}, {b.x + uy, b.y - ux}, {a.x + uy, a.y - ux}})
		if joins := i < len(points)-1 || l.closed; joins && half > k.fine/4 {
			k.disc(points[i])
		}
	}
	if k.cap == "round" && !l.closed && len(points) > 1 {
		k.disc(points[0])
		k.disc(points[len(points)-1])
	}
}

func (k *stroker) disc(at point) {
	o := outline{fine: k.fine}
	o.circle(at.x, at.y, k.width/2)
	k.shapes = append(k.shapes, o.lines[0].points)
}

// maxDashes bounds the pieces that a line is cut into.
const maxDashes = 20_000

// dashed cuts a line into the pieces that dashes leave of it.
func dashed(l line, dashes []float64) []line {
	if len(dashes) == 0 || len(l.points) < 2 {
		return []line{l}
	}
	points := l.points
	if l.closed {
		points = append(points[:len(points):len(points)], points[0])
	}
	var pieces []line
	index, left, on := 0, dashes[0], true
	piece := []point{points[0]}
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		n := math.Hypot(b.x-a.x, b.y-a.y)
		for done := 0.0; ; {
			if n-done <= left {
				left -= n - done
				if on {
					piece = append(piece, b)
				}
				break
			}
			done += left
			at := point{a.x + (b.x-a.x)*done/n, a.y + (b.y-a.y)*done/n}
			if on {
				pieces = append(pieces, line{points: append(piece, at)})
				if len(pieces) == maxDashes {
					return pieces
				}
			}
			on = !on
			piece = []point{at}
			index++
			left = dashes[index%len(dashes)]
		}
	}
	if on && len(piece) > 1 {
		pieces = append(pieces, line{points: piece})
	}
	return pieces
}
